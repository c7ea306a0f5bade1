-- Statements where Lua can't suspend a client: prints what becomes of each.

local places = {}

function places.sort(ask)
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b) return ask() and a < b end)
end

function places.gsub(ask) return (("a"):gsub("a", function() return ask() end)) end
function places.foreach(ask) table.foreach({ 1 }, function() ask() end) end

function places.wrapped(ask)
  table.sort({ 2, 1 }, coroutine.wrap(function()
    ask()
    while true do coroutine.yield(false) end
  end))
end

function places.resumed(ask)
  return (("a"):gsub("a", function()
    local made = coroutine.create(function()
      local inner = coroutine.wrap(function() return ask() end)
      return inner()
    end)
    local fine, why = coroutine.resume(made)
    return fine and why or error(why, 0)
  end))
end

function places.prepared(ask, con)
  local statement = con:prepare("SELECT 1")
  table.sort({ 2, 1 }, function() statement:execute() return false end)
end

function places.slept()
  local ffi = require("ffi")
  ffi.cdef("int usleep(unsigned int);")
  table.sort({ 2, 1 }, function() ffi.C.usleep(1) return false end)
end

function places.connected()
  table.sort({ 2, 1 }, function() sysbench.sql.driver():connect() return false end)
end

function places.hooked(ask)
  debug.sethook(function() debug.sethook() ask() end, "", 1)
  for _ = 1, 10 do tostring(1) end
end

-- Where it can.
function places.index(ask) return setmetatable({}, { __index = function() return ask() end }).a end
function places.call(ask) return setmetatable({}, { __call = function() return ask() end })() end
function places.concat(ask)
  return setmetatable({}, { __concat = function() return ask() end }) .. "a"
end
function places.compare(ask)
  local meta = { __lt = function() return ask() end }
  return setmetatable({}, meta) < setmetatable({}, meta)
end
function places.tostring(ask)
  return tostring(setmetatable({}, { __tostring = function() return ask() end }))
end
function places.iterator(ask)
  for value in function(_, last) return not last and ask() or nil end do return value end
end
function places.handler(ask) return select(2, xpcall(error, function() return ask() end)) end
function places.pcall(ask) return select(2, pcall(ask)) end

function prepare()
  local con = sysbench.sql.driver():connect()
  local number = 0
  local function ask()
    number = number + 1
    return con:query_row("SELECT " .. number)
  end
  local names = {}
  for name in pairs(places) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local fine, why = pcall(places[name], ask, con)
    print(name .. " " .. tostring(fine) .. " " .. tostring(why):gsub("^%S*/", ""))
  end
  -- The connection is as good as before, and its replies belong to their statements.
  print("after " .. con:query_row("SELECT 4711"))
end
