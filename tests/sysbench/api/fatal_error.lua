-- run --events=3
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event() con:query("SELECT * FROM api_no_such_table") end
