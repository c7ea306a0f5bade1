-- Tables whose names are looked up through a metatable, so that thousands of clients share them.
-- Scripts that inspect them (`pairs`, `next`, `getmetatable`) or set a metatable see plain tables.

local pairs, next, rawget, rawset = pairs, next, rawget, rawset
local getmetatable, setmetatable = getmetatable, setmetatable

-- The inherited table, by metatable.
local behind = {}

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

local function copy_names(into)
  for name, value in next, collect({}, into) do
    if rawget(into, name) == nil then
      rawset(into, name, value)
    end
  end
end

local function inherit(from)
  local meta = { __index = from }
  -- Setting an inherited name to nil must hide it, so the table gets copies of all other names.
  function meta.__newindex(of, name, value)
    if value == nil and from[name] ~= nil then
      copy_names(of)
      setmetatable(of, nil)
    end
    rawset(of, name, value)
  end
  behind[meta] = from
  return meta
end

local seen = {}

function seen.pairs(of)
  if behind[getmetatable(of)] then
    return next, collect({}, of)
  end
  return pairs(of)
end

-- Slow, since each step collects all names again, but scripts rarely call `next` on these tables.
function seen.next(of, name)
  return next(behind[getmetatable(of)] and collect({}, of) or of, name)
end

function seen.getmetatable(of)
  local meta = getmetatable(of)
  return not behind[meta] and meta or nil
end

-- The names are copied first: a script's own `__index` would hide them.
function seen.setmetatable(of, meta)
  if behind[getmetatable(of)] then
    copy_names(of)
  end
  return setmetatable(of, meta)
end

return inherit, seen
