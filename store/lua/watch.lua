-- Renews the lease of the attempt that holds the run, and tells whether somebody asked to cancel it.
-- KEYS: run, lease; ARGV: attempt, lease in ms
local run = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'cancel')
if run[1] ~= 'running' or run[2] ~= ARGV[1] then return 'lost' end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
if run[3] then return 'cancel' end
return 'held'
