-- The global table `dbdyno`: what scripts can do here beyond the field's API.

local host, connection_meta, raise, with_traceback = ...

local getmetatable, type, error, xpcall = getmetatable, type, error, xpcall

-- Statements within `body` don't wait for their replies until there are `depth` of them. Whatever
-- becomes of `body`, what it has begun is sent and answered for before this returns.
local function pipeline(made, depth, body, ...)
  if getmetatable(made) ~= connection_meta or type(body) ~= "function" then
    error("dbdyno.pipeline() needs a connection, a depth and a function", 2)
  end
  local slot = made[1]
  host.pipeline_begin(slot, depth)
  local fine, value = xpcall(body, with_traceback, ...)
  local answered = host.pipeline_end(slot)
  host.pipeline_end(slot)
  if not fine then
    error(value, 0)
  elseif answered == false then
    return raise(slot)
  end
end

return { label = host.label, pipeline = pipeline }
