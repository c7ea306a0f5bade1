-- `xpcall` and `debug.traceback` as scripts see them: an error's handler may execute statements.
--
-- LuaJIT calls a handler while the failed functions are still on the stack, where no coroutine can
-- be suspended. So the stack is only noted there, and the script's handler is called once it is
-- left; `debug.traceback` within the handler shows the stack that was noted.

local host = ...

local xpcall, pcall, traceback, running = xpcall, pcall, debug.traceback, coroutine.running
local getmetatable, setmetatable, type = getmetatable, setmetatable, type

-- What LuaJIT says when a handler itself fails.
local HANDLER_FAILED = "error in error handling"

local noted = {}

local function note(value)
  return setmetatable({ value = value, stack = traceback("", 2):sub(2) }, noted)
end

-- The stack that the handler running in a coroutine was called for.
local stacks = setmetatable({}, { __mode = "k" })

local function handled(coroutine, before, fine, value)
  stacks[coroutine] = before
  if not fine then
    value = HANDLER_FAILED
  end
  return false, value
end

local function settle(handler, fine, ...)
  local value = ...
  if fine then
    return true, ...
  elseif type(value) ~= "table" or getmetatable(value) ~= noted then
    -- Not even the note could be made.
    return false, value
  end
  local coroutine = running() or host
  local before = stacks[coroutine]
  stacks[coroutine] = value.stack
  return handled(coroutine, before, pcall(handler, value.value))
end

local function protected_call(body, handler, ...)
  if type(handler) ~= "function" then
    return xpcall(body, handler, ...)
  end
  return settle(handler, xpcall(body, note, ...))
end

local own_debug = {}

function own_debug.traceback(...)
  local message, level = ...
  local stack = type(message) ~= "thread" and stacks[running() or host]
  if not stack then
    return traceback(...)
  end
  local kind = type(message)
  if kind == "string" or kind == "number" then
    return message .. "\n" .. stack
  elseif message == nil and level == nil then
    return stack
  end
  return message
end

-- An error in a finaliser is nobody's: the run fails with it.
jit.attach(function(message) host.finaliser_failed(message) end, "errfin")

return protected_call, own_debug
