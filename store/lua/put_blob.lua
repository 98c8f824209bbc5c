-- Keeps bytes under a key and forgets the least recently used ones above the cap.
-- KEYS: value, uses (sorted set), sizes (hash), total; ARGV: key, bytes, cap, seconds, value prefix
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
local size = string.len(ARGV[2])
local before = tonumber(redis.call('HGET', KEYS[3], ARGV[1])) or 0
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[4])
redis.call('HSET', KEYS[3], ARGV[1], size)
redis.call('ZADD', KEYS[2], now, ARGV[1])
local total = redis.call('INCRBY', KEYS[4], size - before)
local function forget(key)
  redis.call('DEL', ARGV[5] .. key)
  redis.call('ZREM', KEYS[2], key)
  total = redis.call('DECRBY', KEYS[4], tonumber(redis.call('HGET', KEYS[3], key)) or 0)
  redis.call('HDEL', KEYS[3], key)
end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[4]), 'LIMIT', 0, 100)) do
  forget(key)
end
while total > tonumber(ARGV[3]) do
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not oldest or oldest == ARGV[1] then break end
  forget(oldest)
end
return total
