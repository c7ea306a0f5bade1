-- run --events=1
-- Integers of 64 bits, wherever a script has them from.
local ffi = require("ffi")
local kinds = sysbench.sql.type

function thread_init()
  con = sysbench.sql.driver():connect()
end

local function show(what)
  local rs = con:query("SELECT v FROM api_wide ORDER BY n")
  for _ = 1, rs.nrows do
    print("> " .. what, rs:fetch_row()[1])
  end
  con:query("DELETE FROM api_wide")
end

function event()
  con:query("DROP TABLE IF EXISTS api_wide")
  con:query("CREATE TABLE api_wide (n INT, v BIGINT)")
  local stmt = con:prepare("INSERT INTO api_wide VALUES (?, ?)")
  local n = stmt:bind_create(kinds.INT)
  local v = stmt:bind_create(kinds.BIGINT)
  stmt:bind_param(n, v)
  local array = ffi.new("int64_t[2]", { 1234567890123456789LL, -1234567890123456789LL })
  local struct = ffi.new("struct { uint64_t a; int32_t b; }", { 9007199254740995ULL, -7 })
  local values = {
    9007199254740993LL, 9223372036854775807LL, -9223372036854775807LL - 1,
    -9223372036854775807LL, 1234567890123456789ULL, 4040649290496151LL, array[0], array[1],
    struct.a, struct.b, ffi.new("int64_t", 9007199254740993LL), ffi.cast("long long", -1),
    ffi.new("uint32_t", 4294967295), ffi.new("double", 3), 0, -0, 2 ^ 53, -2 ^ 53, -2 ^ 63, 2 ^ 62,
    1.9, -1.9, ffi.new("uint16_t", 65535), 0ULL, 0LL,
  }
  for index, value in ipairs(values) do
    n:set(index)
    v:set(value)
    stmt:execute()
  end
  show("parameter")
  local drawn = sysbench.rand.uniform_uint64() / 2
  n:set(1)
  v:set(drawn)
  stmt:execute()
  print("> drawn", con:query_row("SELECT v FROM api_wide") == ("%u"):format(drawn))
  con:query("DELETE FROM api_wide")
  for index, value in ipairs(values) do
    if not ffi.istype("uint64_t", value) then value = ffi.cast("int64_t", value) end
    con:query(("INSERT INTO api_wide VALUES (%d, %d)"):format(index, value))
  end
  show("text")
  con:bulk_insert_init("INSERT INTO api_wide (n, v) VALUES")
  for index = 1, 8 do
    con:bulk_insert_next(("(%d, %d)"):format(index, ffi.cast("int64_t", values[index])))
  end
  con:bulk_insert_done()
  show("bulk")
  stmt:close()
  con:query("DROP TABLE api_wide")
end
