-- Admits a run or says why not: idempotency, rate, caps, bytes, GPU seconds; then puts it in the line.
-- KEYS: run, events, pending, sequence, held bytes, rate bucket, idempotency, queues, turns, waiting, GPU seconds
-- ARGV: id, queue, device, request, request hash, now, cap, bytes cap, runs/s, burst, idempotency seconds (0: no key),
--   release, client, network, cap of a client, cap of a network, GPU seconds a day (0: no limit)
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
local at = tonumber(bucket[2]) or now
if at > now then -- the clock was put back: what was saved until then stays, and grows from now on
  at = now
  redis.call('HSET', KEYS[6], 'at', tostring(now))
end
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + (now - at) * rate)
if tokens < 1 then return {'rate', tostring((1 - tokens) / rate)} end

local ahead = redis.call('ZCARD', KEYS[3])
if ahead == 0 then redis.call('DEL', KEYS[9], KEYS[10]) end
local client, network = ARGV[13], 'at ' .. ARGV[14]
local waiting = redis.call('HMGET', KEYS[10], client, network)
if (tonumber(waiting[1]) or 0) >= tonumber(ARGV[15]) then return {'yours', waiting[1]} end
if (tonumber(waiting[2]) or 0) >= tonumber(ARGV[16]) then return {'network', waiting[2]} end
if ahead >= tonumber(ARGV[7]) then return {'full', tostring(ahead)} end
local size = string.len(ARGV[4])
if (tonumber(redis.call('GET', KEYS[5])) or 0) + size > tonumber(ARGV[8]) then return {'full', tostring(ahead)} end
local budget = tonumber(ARGV[17])
local spent = budget > 0 and tonumber(redis.call('GET', KEYS[11])) or 0
if budget > 0 and spent >= budget then return {'gpu', tostring(spent)} end

redis.call('HSET', KEYS[6], 'tokens', tostring(tokens - 1), 'at', tostring(now))
redis.call('EXPIRE', KEYS[6], math.ceil(burst / rate) + 1)
redis.call('INCRBY', KEYS[5], size)
-- Clients take turns: a run goes into the round after its client's last one, and not before the round of now.
local turns = redis.call('HMGET', KEYS[9], 'now', client)
local round = math.max(tonumber(turns[1]) or 0, tonumber(turns[2]) or 0) + 1
local score = string.format('%.0f', round * 2^31 + redis.call('INCR', KEYS[4]) % 2^31)
redis.call('HSET', KEYS[9], client, round)
redis.call('ZADD', KEYS[3], score, ARGV[1])
redis.call('HINCRBY', KEYS[10], client, 1)
if network ~= client then redis.call('HINCRBY', KEYS[10], network, 1) end
redis.call('SADD', KEYS[8], ARGV[2])
redis.call('HSET', KEYS[1], 'state', 'queued', 'queue', ARGV[2], 'device', ARGV[3], 'request', ARGV[4], 'attempt', 0,
  'created', ARGV[6], 'enqueued', ARGV[6], 'release', ARGV[12], 'client', client, 'network', network)
if idempotent then
  redis.call('HSET', KEYS[7], 'run', ARGV[1], 'hash', ARGV[5])
  redis.call('EXPIRE', KEYS[7], ARGV[11])
end
ahead = redis.call('ZRANK', KEYS[3], ARGV[1])
local record = '{"id":"0-1","at":' .. ARGV[6] .. ',"event":{"kind":"queued","device":' .. cjson.encode(ARGV[3])
  .. ',"position":' .. ahead .. '}}'
redis.call('XADD', KEYS[2], '0-1', 'kind', 'queued', 'record', record)
return {'admitted', tostring(ahead)}
