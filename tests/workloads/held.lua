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

function places.gsub_table(ask)
  return (("a"):gsub("a", setmetatable({}, { __index = function() return ask() end })))
end
function places.sort_meta(ask)
  local meta = { __lt = function() return ask() == nil end }
  table.sort({ setmetatable({}, meta), setmetatable({}, meta) })
end
function places.format(ask)
  return ("%s"):format(setmetatable({}, { __tostring = function() return ask() end }))
end
function places.inner_sort(ask)
  local fine, why = pcall(table.sort, { 2, 1 }, function() ask() return false end)
  return fine or error(why, 0)
end
function places.prepare_in_sort(_, con)
  table.sort({ 2, 1 }, function() con:prepare("SELECT 1") return false end)
end
function places.bulk_in_sort(_, con)
  table.sort({ 2, 1 }, function()
    con:bulk_insert_init("INSERT INTO held VALUES")
    con:bulk_insert_next("(1)")
    con:bulk_insert_done()
    return false
  end)
end
function places.reconnect_in_sort(_, con)
  table.sort({ 2, 1 }, function() con:reconnect() return false end)
end
function places.pipeline_in_sort(_, con)
  table.sort({ 2, 1 }, function()
    dbdyno.pipeline(con, 2, function() con:query("SELECT 1") end)
    return false
  end)
end
function places.sort_in_pipeline(_, con)
  dbdyno.pipeline(con, 2, function()
    table.sort({ 2, 1 }, function() con:query("SELECT 1") return false end)
  end)
end

-- Where it can.
function places.foreachi(ask) table.foreachi({ 1 }, function() ask() end) end
function places.chunk(ask) return assert(loadstring("local ask = ... return ask()"))(ask) end
function places.newindex(ask)
  local got
  setmetatable({}, { __newindex = function() got = ask() end }).a = 1
  return got
end
function places.arithmetic(ask)
  local function value() return ask() end
  local made = setmetatable({}, { __add = value, __unm = value, __mod = value })
  return (made + 1) .. (-made) .. (made % 2)
end
function places.equal(ask)
  local function truth() return ask() ~= nil end
  local meta = { __eq = truth, __le = truth }
  local a, b = setmetatable({}, meta), setmetatable({}, meta)
  return a == b and a <= b
end
function places.length(ask)
  local made = newproxy(true)
  getmetatable(made).__len = function() return ask() end
  return #made
end
function places.metatype(ask)
  local meta = { __index = function() return ask() end }
  local kind = require("ffi").metatype("struct { int held; }", meta)
  return kind().nothing
end
function places.required(ask)
  package.loaded.held_module = nil
  package.preload.held_module = function() return { value = ask() } end
  return require("held_module").value
end
function places.fetch_in_sort(_, con)
  local found, got = con:query("SELECT 5"), nil
  table.sort({ 2, 1 }, function() got = got or found:fetch_row()[1] return false end)
  return got
end
function places.disconnect_in_sort()
  local other = sysbench.sql.driver():connect()
  table.sort({ 2, 1 }, function() other:disconnect() return false end)
end
function places.handler_in_coroutine(ask)
  return coroutine.wrap(function()
    return select(2, xpcall(error, function() return ask() end))
  end)()
end
function places.handler_yields()
  local made = coroutine.wrap(function()
    return select(2, xpcall(error, function() return coroutine.yield(5) end))
  end)
  return made() .. made(6)
end
function places.handler_of_runtime(ask)
  return select(2, xpcall(function() return (nil).field end, function() return ask() end))
end
function places.handler_of_refused(ask, con)
  local function refused() con:query("SELECT nothing FROM nowhere") end
  return select(2, xpcall(refused, function() return ask() end))
end
function places.handler_in_pipeline(_, con)
  local got
  dbdyno.pipeline(con, 2, function()
    got = select(2, xpcall(error, function() con:query("SELECT 1") return "sent" end))
  end)
  return got
end
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
  con:query("CREATE TABLE held (a INT)")
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
  print("stored " .. con:query_row("SELECT count(*) FROM held"))
  con:query("DROP TABLE held")
  print("after " .. con:query_row("SELECT 4711"))
end
