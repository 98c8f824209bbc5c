-- Takes a run up: a new attempt number, which is the fencing token, and a lease.
-- KEYS: run, lease, pending, running, turns, waiting; ARGV: id, lease in ms, most attempts (0: any), now
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'client', 'network')
if not run[1] then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return {'gone'}
end
if run[1] == 'finished' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return {'finished'}
end
if redis.call('EXISTS', KEYS[2]) == 1 then return {'held'} end
local most = tonumber(ARGV[3])
if most > 0 and tonumber(run[2]) >= most then return {'exhausted'} end
local attempt = redis.call('HINCRBY', KEYS[1], 'attempt', 1)
redis.call('HSET', KEYS[1], 'state', 'running')
redis.call('HDEL', KEYS[1], 'orphan')
redis.call('SET', KEYS[2], attempt, 'PX', ARGV[2])
local score = redis.call('ZSCORE', KEYS[3], ARGV[1])
if score then
  redis.call('ZREM', KEYS[3], ARGV[1])
  local round = math.floor(tonumber(score) / 2^31)
  if round > (tonumber(redis.call('HGET', KEYS[5], 'now')) or 0) then redis.call('HSET', KEYS[5], 'now', round) end
  for _, who in ipairs({run[3], run[4]}) do
    if who and redis.call('HINCRBY', KEYS[6], who, -1) <= 0 then redis.call('HDEL', KEYS[6], who) end
    if run[3] == run[4] then break end
  end
end
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[1])
local kept = redis.call('HMGET', KEYS[1], 'device', 'request', 'created', 'enqueued', 'cancel')
return {'claimed', tostring(attempt), kept[1], kept[2], kept[3], kept[4], kept[5] or '', run[3] or ''}
