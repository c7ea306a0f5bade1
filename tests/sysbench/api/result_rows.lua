-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  con:query("DROP TABLE IF EXISTS api_rows")
  con:query("CREATE TABLE api_rows (a INT, b VARCHAR(20), c INT)")
  con:query("INSERT INTO api_rows VALUES (1, 'one', NULL), (2, '', 7), (3, NULL, 0)")
  local rs = con:query("SELECT a, b, c FROM api_rows ORDER BY a")
  print("> size", rs.nrows, rs.nfields)
  for i = 1, rs.nrows do
    local row = rs:fetch_row()
    print("> row", row[1], row[2], row[3], type(row[1]))
  end
  print("> end", rs:fetch_row())
  con:query("DROP TABLE api_rows")
end
