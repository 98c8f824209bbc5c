-- Appends an event of the attempt that holds the run and wakes the readers. The id makes a retry harmless.
-- KEYS: run, events; ARGV: attempt, event id, kind, record
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt')
if run[1] ~= 'running' or run[2] ~= ARGV[1] then return 0 end
local added = redis.pcall('XADD', KEYS[2], ARGV[2], 'kind', ARGV[3], 'record', ARGV[4])
if type(added) == 'table' and added.err then
  if string.find(added.err, 'equal or smaller') then return 1 end
  return added
end
redis.call('PUBLISH', KEYS[2], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
return 1
