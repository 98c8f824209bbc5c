-- Ends a run, for the attempt that holds it: the last event, the counters, and a time to live for what is left.
-- KEYS: run, lease, running, events, held bytes, verdicts; ARGV: id, attempt, event id, record, verdict, seconds to keep
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt')
if run[1] == 'finished' and run[2] == ARGV[2] then return 1 end
if run[1] ~= 'running' or run[2] ~= ARGV[2] then return 0 end
redis.call('DECRBY', KEYS[5], redis.call('HSTRLEN', KEYS[1], 'request'))
redis.call('HDEL', KEYS[1], 'request')
redis.call('HSET', KEYS[1], 'state', 'finished')
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HINCRBY', KEYS[6], ARGV[5], 1)
redis.call('XADD', KEYS[4], ARGV[3], 'kind', 'finished', 'record', ARGV[4])
redis.call('PUBLISH', KEYS[4], ARGV[3] .. ' finished ' .. ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('EXPIRE', KEYS[4], ARGV[6])
return 1
