-- run --events=2
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

local function own_id()
  return "SELECT " .. (drv:name() == "mysql" and "connection_id()" or "pg_backend_pid()")
end

function event()
  local other = drv:connect()
  local pid = own_id()
  local one, two = con:query_row(pid), other:query_row(pid)
  print("> differ", one ~= two)
  other:disconnect()
  print("> alive", con:query_row("SELECT 5"))
end
