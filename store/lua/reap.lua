-- Finds the runs of one queue that no living worker has: leases run out, or messages taken and never claimed.
-- They go to the end of the line again; answers the ids to send, and those that have lost too many workers.
-- KEYS: running, pending, the queue's list, claimed, sequence, lost; ARGV: queue, now, grace, most attempts, prefix
local again, exhausted = {}, {}
local now = tonumber(ARGV[2])

local function line_up(id, run)
  local seq = redis.call('INCR', KEYS[5])
  redis.call('HSET', run, 'state', 'queued', 'seq', seq, 'enqueued', ARGV[2])
  redis.call('HDEL', run, 'orphan')
  redis.call('ZADD', KEYS[2], seq, id)
  table.insert(again, id)
end

for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local run = ARGV[5] .. 'run:' .. id
  local held = redis.call('HMGET', run, 'state', 'queue', 'attempt')
  if not held[1] then
    redis.call('ZREM', KEYS[1], id)
  elseif held[2] == ARGV[1] and redis.call('EXISTS', ARGV[5] .. 'lease:' .. id) == 0 then
    if tonumber(held[3]) >= tonumber(ARGV[4]) then
      table.insert(exhausted, id)
    else
      redis.call('INCR', KEYS[6])
      redis.call('ZREM', KEYS[1], id)
      line_up(id, run)
    end
  end
end

local taken = '+inf'
if redis.call('LLEN', KEYS[3]) > 0 then taken = '(' .. (redis.call('GET', KEYS[4]) or '0') end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', taken, 'LIMIT', 0, 100)) do
  local run = ARGV[5] .. 'run:' .. id
  local since = redis.call('HMGET', run, 'orphan', 'enqueued')
  if not since[2] then
    redis.call('ZREM', KEYS[2], id)
  elseif not since[1] then
    redis.call('HSET', run, 'orphan', ARGV[2])
  elseif now - tonumber(since[1]) > tonumber(ARGV[3]) then
    line_up(id, run)
  end
end
return {again, exhausted}
