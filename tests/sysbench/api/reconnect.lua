-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local before = con:query_row("SELECT pg_backend_pid()")
  con:reconnect()
  print("> another", before ~= con:query_row("SELECT pg_backend_pid()"))
end
