-- `coroutine` as scripts see it: a statement within a script's own coroutine suspends the client,
-- not only the coroutine.

local host = ...

local create, resume, yield, status = coroutine.create, coroutine.resume, coroutine.yield,
  coroutine.status
local isyieldable = coroutine.isyieldable

-- Marks what the script itself yields; the host yields nothing.
local OWN = {}

local function pass_on(made, fine, mark, ...)
  if not fine or status(made) == "dead" then
    return fine, mark, ...
  elseif mark == OWN then
    return true, ...
  end
  return pass_on(made, resume(made, yield()))
end

-- Within a callback of a C function nobody passes on that the client is to be suspended.
local function released(...)
  host.hold(-1)
  return ...
end

local function go_on(made, ...)
  if isyieldable() then
    return pass_on(made, resume(made, ...))
  end
  host.hold(1)
  return released(pass_on(made, resume(made, ...)))
end

local function unwrap(fine, ...)
  if not fine then
    error((...), 0)
  end
  return ...
end

local passing = {}

-- A client's outermost function can't yield: nobody would resume it.
function passing.yield(...)
  if host.outermost() then
    error("attempt to yield from outside a coroutine", 2)
  end
  return yield(OWN, ...)
end

function passing.resume(made, ...)
  return go_on(made, ...)
end

function passing.wrap(body)
  local made = create(body)
  return function(...)
    return unwrap(go_on(made, ...))
  end
end

return passing
