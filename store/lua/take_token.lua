-- One token of a client's bucket: answers 0, or the seconds until there is one.
-- KEYS: bucket; ARGV: tokens/s, burst
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local at = tonumber(bucket[2]) or now
if at > now then -- the clock was put back: what was saved until then stays, and grows from now on
  at = now
  redis.call('HSET', KEYS[1], 'at', tostring(now))
end
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + (now - at) * rate)
if tokens < 1 then return tostring((1 - tokens) / rate) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens - 1), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate) + 1)
return '0'
