-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local fine, e = pcall(function() return con:query("SELECT 1/0") end)
  print("> pcall", fine, type(e))
  print("> state", con.sql_state)
end
