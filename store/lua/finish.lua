-- Ends a run, for the attempt that holds it: the last event, the counters, and a time to live for what is left.
-- KEYS: run, lease, running, events, held bytes, verdicts, pace, GPU seconds of the client today
-- ARGV: id, attempt, event id, record, verdict, seconds to keep, seconds that it took, 1 on a GPU
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'queue')
if run[1] == 'finished' and run[2] == ARGV[2] then return 1 end
if run[1] ~= 'running' or run[2] ~= ARGV[2] then return 0 end
redis.call('DECRBY', KEYS[5], redis.call('HSTRLEN', KEYS[1], 'request'))
redis.call('HDEL', KEYS[1], 'request')
redis.call('HSET', KEYS[1], 'state', 'finished')
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HINCRBY', KEYS[6], ARGV[5], 1)
if run[3] and ARGV[5] ~= 'cancelled' then
  local before = tonumber(redis.call('HGET', KEYS[7], run[3]))
  local took = tonumber(ARGV[7])
  redis.call('HSET', KEYS[7], run[3], tostring(before and 0.8 * before + 0.2 * took or took))
end
if ARGV[8] == '1' then
  redis.call('INCRBYFLOAT', KEYS[8], ARGV[7])
  redis.call('EXPIRE', KEYS[8], 172800)
end
redis.call('XADD', KEYS[4], ARGV[3], 'kind', 'finished', 'record', ARGV[4])
redis.call('PUBLISH', KEYS[4], ARGV[3] .. ' finished ' .. ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('EXPIRE', KEYS[4], ARGV[6])
return 1
