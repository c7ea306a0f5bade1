-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

local function own_id()
  return "SELECT " .. (drv:name() == "mysql" and "connection_id()" or "pg_backend_pid()")
end

function event()
  local before = con:query_row(own_id())
  con:reconnect()
  print("> another", before ~= con:query_row(own_id()))
end
