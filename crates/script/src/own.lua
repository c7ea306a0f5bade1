-- The global table `dbdyno`: functions beyond sysbench's API.

local host, connection_meta, raise = ...

local getmetatable, type, error, pcall = getmetatable, type, error, pcall

-- Statements within `body` wait for replies only once `depth` of them are in flight. All of them
-- are sent and answered before this returns, even if `body` fails; its error is raised as it is,
-- for the script's `pcall`.
local function pipeline(made, depth, body, ...)
  if getmetatable(made) ~= connection_meta or type(body) ~= "function" then
    error("dbdyno.pipeline() needs a connection, a depth and a function", 2)
  end
  local slot = made[1]
  host.pipeline_begin(slot, depth)
  local fine, value = pcall(body, ...)
  local answered = host.pipeline_end(slot)
  host.pipeline_end(slot)
  if not fine then
    error(value, 0)
  elseif answered == false then
    return raise(slot)
  end
end

return { label = host.label, pipeline = pipeline }
