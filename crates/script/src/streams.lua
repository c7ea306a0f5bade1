-- `print`, `io` and `os` as scripts see them: output goes through the host in whole lines, and a
-- sleeping client does not block the others of its shard.

local host = ...

local getmetatable, tostring, tonumber, type = getmetatable, tostring, tonumber, type
local concat, open, assert, error, select = table.concat, io.open, assert, error, select

local function say(...)
  local words = {}
  for index = 1, select("#", ...) do
    words[index] = tostring((select(index, ...)))
  end
  host.print(concat(words, "\t"))
end

local stdout = newproxy(true)
local file = {}

function file:write(...)
  host.write(concat({ ... }))
  return self
end

function file:flush() return true end
function file:setvbuf() return true end
function file:close() return nil, "standard output can't be closed" end

local meta = getmetatable(stdout)
meta.__index, meta.__tostring = file, function() return "file (standard output)" end

local streams, system = { stdout = stdout }, {}
local destination = stdout

function streams.output(to)
  if type(to) == "string" then
    destination = assert(open(to, "w"))
  elseif to then
    destination = to
  end
  return destination
end

function streams.write(...)
  return destination:write(...)
end

function streams.type(of)
  return of == stdout and "file" or io.type(of)
end

function system.execute(command)
  local seconds = command and tostring(command):match("^%s*sleep%s+([%d.]+)%s*$")
  if seconds then
    host.sleep(tonumber(seconds))
    return 0
  end
  return os.execute(command)
end

function system.exit()
  error("a script can't end the program: return from event() instead", 2)
end

return say, streams, system
