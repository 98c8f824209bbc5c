-- Finds the runs of one queue that no living worker has: leases run out, or runs that wait while no message does.
-- The former go to the end of their client's line again. Answers the ids to send a message for, and those that have
-- lost too many workers.
-- KEYS: running, pending, the queue's list, turns, waiting, sequence, lost
-- ARGV: queue, now, grace, most attempts, prefix, lease in ms
local again, exhausted = {}, {}
local now = tonumber(ARGV[2])

local function line_up(id, run)
  local whose = redis.call('HMGET', run, 'client', 'network')
  local client = whose[1] or ''
  local turns = redis.call('HMGET', KEYS[4], 'now', client)
  local round = math.max(tonumber(turns[1]) or 0, tonumber(turns[2]) or 0) + 1
  redis.call('HSET', KEYS[4], client, round)
  redis.call('HINCRBY', KEYS[5], client, 1)
  if whose[2] and whose[2] ~= client then redis.call('HINCRBY', KEYS[5], whose[2], 1) end
  redis.call('HSET', run, 'state', 'queued', 'enqueued', ARGV[2])
  redis.call('HDEL', run, 'orphan')
  redis.call('ZADD', KEYS[2], string.format('%.0f', round * 2^31 + redis.call('INCR', KEYS[6]) % 2^31), id)
  table.insert(again, id)
end

-- 1 while there is the lease, else 0. Redis keeps the time at which it ends: after the clock was put back, that is far away.
local function held_by_lease(lease)
  local ms = redis.call('PTTL', lease)
  if ms > tonumber(ARGV[6]) then redis.call('PEXPIRE', lease, ARGV[6]) end
  return ms == -2 and 0 or 1
end

for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local run = ARGV[5] .. 'run:' .. id
  local held = redis.call('HMGET', run, 'state', 'queue', 'attempt')
  if not held[1] then
    redis.call('ZREM', KEYS[1], id)
  elseif held[2] == ARGV[1] and held_by_lease(ARGV[5] .. 'lease:' .. id) == 0 then
    if tonumber(held[3]) >= tonumber(ARGV[4]) then
      table.insert(exhausted, id)
    else
      redis.call('INCR', KEYS[7])
      redis.call('ZREM', KEYS[1], id)
      line_up(id, run)
    end
  end
end

-- A message may have been lost with the worker that took it. Which run it named does not matter: any message lets a
-- worker take up the run whose turn it is.
if redis.call('LLEN', KEYS[3]) == 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, 99)) do
    local run = ARGV[5] .. 'run:' .. id
    local since = redis.call('HMGET', run, 'orphan', 'state')
    if not since[2] then
      redis.call('ZREM', KEYS[2], id)
    elseif not since[1] or tonumber(since[1]) > now then
      redis.call('HSET', run, 'orphan', ARGV[2])
    elseif now - tonumber(since[1]) > tonumber(ARGV[3]) then
      redis.call('HSET', run, 'orphan', ARGV[2])
      table.insert(again, id)
    end
  end
end
return {again, exhausted}
