-- run --events=2
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local other = drv:connect()
  local one, two = con:query_row("SELECT pg_backend_pid()"), other:query_row("SELECT pg_backend_pid()")
  print("> differ", one ~= two)
  other:disconnect()
  print("> alive", con:query_row("SELECT 5"))
end
