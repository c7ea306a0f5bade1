-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  con:query("DROP TABLE IF EXISTS api_bulk")
  con:query("CREATE TABLE api_bulk (a INT, b CHAR(100))")
  con:bulk_insert_init("INSERT INTO api_bulk VALUES")
  for i = 1, 12000 do
    con:bulk_insert_next("(" .. i .. ", '" .. sysbench.rand.string("@####") .. "')")
  end
  con:bulk_insert_done()
  print("> rows", con:query_row("SELECT COUNT(*), MIN(a), MAX(a) FROM api_bulk"))
  con:query("DROP TABLE api_bulk")
end
