-- Tables whose names are looked up through a metatable, so that thousands of clients share them.
-- Scripts that inspect them (`pairs`, `getmetatable`) or set a metatable see plain tables.

local pairs, next, rawget, rawset = pairs, next, rawget, rawset
local getmetatable, setmetatable = getmetatable, setmetatable

-- The inherited table, by metatable.
local behind = {}

local function inherit(from)
  local meta = { __index = from }
  behind[meta] = from
  return meta
end

local function collect(into, of)
  local from = behind[getmetatable(of)]
  if from then
    collect(into, from)
  end
  for name, value in next, of do
    into[name] = value
  end
  return into
end

local seen = {}

function seen.pairs(of)
  if behind[getmetatable(of)] then
    return next, collect({}, of)
  end
  return pairs(of)
end

function seen.getmetatable(of)
  local meta = getmetatable(of)
  return not behind[meta] and meta or nil
end

-- The names are copied first: a script's own `__index` would hide them.
function seen.setmetatable(of, meta)
  if behind[getmetatable(of)] then
    for name, value in next, collect({}, of) do
      if rawget(of, name) == nil then
        rawset(of, name, value)
      end
    end
  end
  return setmetatable(of, meta)
end

return inherit, seen
