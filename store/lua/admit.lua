-- Admits a run or says why not: idempotency, rate, queue cap, bytes; then puts it in the line with its first event.
-- KEYS: run, events, pending, sequence, held bytes, rate bucket, idempotency, queues
-- ARGV: id, queue, device, request, request hash, now, cap, bytes cap, runs/s, burst, idempotency seconds (0: no key),
--   release
local idempotent = tonumber(ARGV[11]) > 0
if idempotent then
  local earlier = redis.call('HMGET', KEYS[7], 'run', 'hash')
  if earlier[1] then
    if earlier[2] == ARGV[5] then return {'repeated', earlier[1]} end
    return {'conflict', earlier[1]}
  end
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
local rate, burst = tonumber(ARGV[9]), tonumber(ARGV[10])
local bucket = redis.call('HMGET', KEYS[6], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + (now - (tonumber(bucket[2]) or now)) * rate)
if tokens < 1 then return {'rate', tostring((1 - tokens) / rate)} end

local ahead = redis.call('ZCARD', KEYS[3])
if ahead >= tonumber(ARGV[7]) then return {'full', tostring(ahead)} end
local size = string.len(ARGV[4])
if (tonumber(redis.call('GET', KEYS[5])) or 0) + size > tonumber(ARGV[8]) then return {'full', tostring(ahead)} end

redis.call('HSET', KEYS[6], 'tokens', tostring(tokens - 1), 'at', tostring(now))
redis.call('EXPIRE', KEYS[6], math.ceil(burst / rate) + 1)
local seq = redis.call('INCR', KEYS[4])
redis.call('INCRBY', KEYS[5], size)
redis.call('ZADD', KEYS[3], seq, ARGV[1])
redis.call('SADD', KEYS[8], ARGV[2])
redis.call('HSET', KEYS[1], 'state', 'queued', 'queue', ARGV[2], 'device', ARGV[3], 'request', ARGV[4],
  'attempt', 0, 'created', ARGV[6], 'enqueued', ARGV[6], 'seq', seq, 'release', ARGV[12])
if idempotent then
  redis.call('HSET', KEYS[7], 'run', ARGV[1], 'hash', ARGV[5])
  redis.call('EXPIRE', KEYS[7], ARGV[11])
end
local record = '{"id":"0-1","at":' .. ARGV[6] .. ',"event":{"kind":"queued","device":' .. cjson.encode(ARGV[3])
  .. ',"position":' .. ahead .. '}}'
redis.call('XADD', KEYS[2], '0-1', 'kind', 'queued', 'record', record)
return {'admitted', tostring(ahead)}
