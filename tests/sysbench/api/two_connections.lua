-- run --events=2
require("api_module")

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local other = drv:connect()
  local pid = own_id(drv)
  local one, two = con:query_row(pid), other:query_row(pid)
  print("> differ", one ~= two)
  other:disconnect()
  print("> alive", con:query_row("SELECT 5"))
end
