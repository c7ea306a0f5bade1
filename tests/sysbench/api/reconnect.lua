-- run --events=1
require("api_module")

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local before = con:query_row(own_id(drv))
  con:reconnect()
  print("> another", before ~= con:query_row(own_id(drv)))
end
