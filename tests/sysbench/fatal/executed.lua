function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS fatal_rows")
  con:query("CREATE TABLE fatal_rows (a INT PRIMARY KEY, b INT NOT NULL)")
  stmt = con:prepare("INSERT INTO fatal_rows (a, b) SELECT 1, NULL FROM (SELECT ? AS a) AS one")
  a = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(a)
end
function event()
  a:set(1)
  stmt:execute()
end
