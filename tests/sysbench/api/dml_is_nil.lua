-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  print("> ddl", con:query("DROP TABLE IF EXISTS api_dml"))
  con:query("CREATE TABLE api_dml (a INT)")
  print("> insert", con:query("INSERT INTO api_dml VALUES (1)"))
  print("> hit", con:query("UPDATE api_dml SET a = 2 WHERE a = 1"))
  print("> miss", con:query("UPDATE api_dml SET a = 2 WHERE a = 1"))
  print("> begin", con:query("BEGIN"), con:query("COMMIT"))
  con:query("DROP TABLE api_dml")
end
