-- run --events=3
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function init()
  local c = sysbench.sql.driver():connect()
  c:query("DROP TABLE IF EXISTS api_restart")
  c:query("CREATE TABLE api_restart (a INT PRIMARY KEY)")
  c:query("INSERT INTO api_restart VALUES (1)")
end
function sysbench.hooks.before_restart_event(e)
  print("> hook", e.errcode, e.sql_errno, e.sql_state, e.query, tostring(e.connection))
end
local failed = false
function event()
  if not failed then
    failed = true
    con:query("INSERT INTO api_restart VALUES (1)")
    print("> never")
  end
end
function done() sysbench.sql.driver():connect():query("DROP TABLE api_restart") end
