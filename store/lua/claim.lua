-- Takes a run up: a new attempt number, which is the fencing token, and a lease.
-- KEYS: run, lease, pending, running, claimed; ARGV: id, lease in ms, most attempts (0: any), now
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'seq')
if not run[1] then return {'gone'} end
if run[1] == 'finished' then return {'finished'} end
if redis.call('EXISTS', KEYS[2]) == 1 then return {'held'} end
local most = tonumber(ARGV[3])
if most > 0 and tonumber(run[2]) >= most then return {'exhausted'} end
local attempt = redis.call('HINCRBY', KEYS[1], 'attempt', 1)
redis.call('HSET', KEYS[1], 'state', 'running')
redis.call('HDEL', KEYS[1], 'orphan')
redis.call('SET', KEYS[2], attempt, 'PX', ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[1])
if tonumber(run[3]) > (tonumber(redis.call('GET', KEYS[5])) or 0) then redis.call('SET', KEYS[5], run[3]) end
local kept = redis.call('HMGET', KEYS[1], 'device', 'request', 'created', 'enqueued', 'cancel')
return {'claimed', tostring(attempt), kept[1], kept[2], kept[3], kept[4], kept[5] or ''}
