-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  print("> row", con:query_row("SELECT 1, NULL, 'x'"))
  print("> none", con:query_row("SELECT 1 WHERE 1 = 0"))
end
