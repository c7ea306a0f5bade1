-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

local function told(result)
  return tostring(result), result == nil, result and true or false
end

function event()
  print("> ddl", told(con:query("DROP TABLE IF EXISTS api_dml")))
  con:query("CREATE TABLE api_dml (a INT)")
  print("> insert", told(con:query("INSERT INTO api_dml VALUES (1)")))
  print("> hit", told(con:query("UPDATE api_dml SET a = 2 WHERE a = 1")))
  print("> miss", told(con:query("UPDATE api_dml SET a = 2 WHERE a = 1")))
  print("> begin", told(con:query("BEGIN")))
  print("> commit", told(con:query("COMMIT")))
  print("> row", con:query_row("INSERT INTO api_dml VALUES (3)"))
  print("> no row", con:query_row("SELECT a FROM api_dml WHERE a = 7"))
  local statement = con:prepare("DELETE FROM api_dml")
  print("> prepared", told(statement:execute()))
  print("> close", statement:close())
  con:query("DROP TABLE api_dml")
end
