-- run --events=3
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  con:query("BEGIN")
  con:query("SELECT 1")
  con:query("DROP TABLE IF EXISTS api_classes")
  con:query("CREATE TABLE api_classes (a INT)")
  con:query("INSERT INTO api_classes VALUES (1), (2)")
  con:query("UPDATE api_classes SET a = 3 WHERE a = 99")
  con:query("DELETE FROM api_classes")
  con:query("DROP TABLE api_classes")
  con:query("COMMIT")
end
