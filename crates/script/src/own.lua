-- The global table `dbdyno`: functions beyond sysbench's API.

-- `pipelines`: those of connections to several servers, by their metatables.
local host, families, raise_on, pipelines = ...

local getmetatable, type, error, pcall = getmetatable, type, error, pcall

-- Statements and commands within `body` wait for replies only once `depth` of them are in flight.
-- All of them are sent and answered before this returns, even if `body` fails; its error is raised
-- as it is, for the script's `pcall`.
local function pipeline(made, depth, body, ...)
  local of_several = pipelines[getmetatable(made)]
  if of_several and type(body) == "function" then
    return of_several(made, depth, body, ...)
  end
  local raise = raise_on[getmetatable(made)]
  if not raise or type(body) ~= "function" then
    error("dbdyno.pipeline() needs a connection, a depth and a function", 2)
  end
  local slot = made[1]
  host.pipeline_begin(slot, depth)
  made[2] = true
  local fine, value = pcall(body, ...)
  made[2] = false
  local answered = host.pipeline_end(slot)
  if answered ~= true then
    host.pipeline_end(slot)
  end
  if not fine then
    error(value, 0)
  elseif answered == false then
    return raise(made)
  end
end

return {
  label = host.label, pipeline = pipeline, keys = families.keys, documents = families.documents,
}
