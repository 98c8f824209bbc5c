-- Asks for the end of a run; tells its state, so that the caller can end it at once where no worker holds it.
-- KEYS: run
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'queued' or state == 'running' then redis.call('HSET', KEYS[1], 'cancel', 1) end
return state or ''
