-- run --events=1
-- Values that are hard to carry: NULL, large integers, bytes, other alphabets, long text.
local function row(label, ...)
  local words = {}
  for index = 1, select("#", ...) do
    local value = select(index, ...)
    words[index] = value == nil and "nil" or ("%s<%d>"):format(value, #value)
  end
  print("> " .. label .. " " .. table.concat(words, " "))
end

function event()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  local binary = drv:name() == "mysql" and "BLOB" or "BYTEA"
  local charset = drv:name() == "mysql" and " CHARACTER SET utf8mb4" or ""
  con:query(drv:name() == "mysql" and "SET NAMES utf8mb4" or "SET client_encoding = 'UTF8'")
  con:query("DROP TABLE IF EXISTS api_values")
  con:query("CREATE TABLE api_values (id BIGINT PRIMARY KEY, t VARCHAR(200), d DECIMAL(30,5), "
    .. "f DOUBLE PRECISION, n INT, b " .. binary .. ")" .. charset)
  con:query("INSERT INTO api_values VALUES (9223372036854775807, 'größe 漢字 😀', "
    .. "12345678901234567890.12345, 0.1, NULL, '\t tab')")
  con:query("INSERT INTO api_values VALUES (-9223372036854775808, '', -0.5, 1e300, 0, NULL)")
  row("max", con:query_row("SELECT id, t, d, f, n FROM api_values WHERE n IS NULL"))
  row("min", con:query_row("SELECT id, t, d, n, b FROM api_values WHERE n = 0"))
  local rs = con:query("SELECT t, n, id FROM api_values ORDER BY id")
  print("> size", rs.nrows, rs.nfields)
  for _ = 1, rs.nrows do
    local r = rs:fetch_row()
    print("> row", r[1], r[2], r[3])
  end
  row("long", con:query_row("SELECT REPEAT('ab', 20000)"))
  print("> length", con:query_row(("SELECT LENGTH('%s')"):format(("x"):rep(70000))))
  local stmt = con:prepare("INSERT INTO api_values (id, t, n) VALUES (?, ?, ?)")
  local id = stmt:bind_create(sysbench.sql.type.BIGINT)
  local t = stmt:bind_create(sysbench.sql.type.VARCHAR, 20)
  local n = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(id, t, n)
  for number, text in ipairs { "eins", "zwei ü", "a longer text than there is room for" } do
    id:set(number * 4294967296) t:set(text) n:set(-number)
    stmt:execute()
  end
  rs = con:query("SELECT id, t, n FROM api_values WHERE n < 0 ORDER BY id")
  for _ = 1, rs.nrows do print("> bound", unpack(rs:fetch_row())) end
  con:query("DROP TABLE api_values")
  con:disconnect()
end
