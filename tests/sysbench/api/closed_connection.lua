-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  con:disconnect()
  print("> pcall", (pcall(con.query, con, "SELECT 1")))
end
