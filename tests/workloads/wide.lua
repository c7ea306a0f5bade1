-- Integers as parameters, options and texts: prints what each becomes, or why it is refused.

sysbench.cmdline.options = {
  whole = { "An integer", 5 },
  wide = { "An integer by its default", 9007199254740993LL },
  typed = { "An integer by its type", 1, sysbench.cmdline.ARG_INT },
  size = { "A size", 1, sysbench.cmdline.ARG_SIZE },
  column = { "Type of the column", "bigint" },
}

local ffi, bit = require("ffi"), require("bit")
local WIDE = "9007199254740993"

local function place(n)
  return sysbench.sql.driver():name() == "pgsql" and "$" .. n or "?"
end

local function try(what, statement, parameter, value)
  local fine, why = pcall(function()
    parameter:set(value)
    statement:execute()
  end)
  if type(why) == "table" then why = why.sql_errmsg end
  if fine then
    print(what .. " " .. tostring(con:query_row("SELECT v FROM wide")))
  else
    print(what .. " refused: " .. tostring(why):gsub("^%S*/", ""))
  end
  con:query("DELETE FROM wide")
end

function prepare()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE wide (v " .. sysbench.opt.column .. ")")
  local statement = con:prepare("INSERT INTO wide VALUES (" .. place(1) .. ")")
  local integer = statement:bind_create(sysbench.sql.type.BIGINT)
  statement:bind_param(integer)
  local values = {
    largest = 18446744073709551615ULL, beyond = 9223372036854775808ULL, double = 2 ^ 63,
    text = "9007199254740993", negative = "-9223372036854775808", spaced = " +12 ",
    hex = "0x10", fraction = "1.9", huge = 1e30, many = "99999999999999999999",
    nan = 0 / 0, infinite = math.huge, truth = true, table = {}, word = "five", nothing = false,
    null = nil, whole = sysbench.opt.whole, wide = sysbench.opt.wide, typed = sysbench.opt.typed,
    size = sysbench.opt.size,
    cast = ffi.cast("uint64_t", -1), hex_wide = "0x20000000000001", hex_most = "0x7fffffffffffffff",
    hex_least = "-0x8000000000000000", hex_beyond = "0xffffffffffffffff",
    point = "9007199254740993.75", minus_point = "-9007199254740993.5", zeros = "000" .. WIDE,
    product = 3037000499LL * 3037000499LL, shifted = bit.lshift(1LL, 62) + 1,
    pointer = ffi.cast("intptr_t", 9007199254740993LL), byte = ffi.new("int8_t", -128),
    bits_65 = "0x1ffffffffffffffff", suffix = "9007199254740993LL", below = "-9223372036854775809",
    power = "9.007199254740993e15", power_least = "-9.223372036854775808E18", power_cut = "-25e-1",
    power_most = "922337203685477580700e-2", power_ten = " 1e18 ", power_small = "1e-999999999",
    power_zero = "0.0e99", power_point = "90071992547409935.00e-1", power_zeros = "0.0001e+4",
    power_beyond = "1e19", power_many = "1.8446744073709551616e19", power_wide = "1e99999999999",
    power_nothing = "e5", power_dot = ".e5", power_half = "1e",
  }
  local names = {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do try(name, statement, integer, values[name]) end
  local text = statement:bind_create(sysbench.sql.type.VARCHAR, 40)
  statement:bind_param(text)
  for _, value in ipairs { 9007199254740993LL, 2 ^ 53, -12, 1.5, 1234567890123ULL } do
    try("text", statement, text, value)
  end
  try("text_most", statement, text, 18446744073709551615ULL)
  try("text_least", statement, text, -9223372036854775807LL - 1)
  print(("option %d %d %d %d"):format(sysbench.opt.whole, sysbench.opt.wide, sysbench.opt.typed,
    sysbench.opt.size))
  require("ffi").C.printf("printf %lld %llu\n", 9007199254740993LL, 18446744073709551615ULL)
  con:query("DROP TABLE wide")
end
