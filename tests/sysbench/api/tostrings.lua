-- run --events=1
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function event()
  local stmt = con:prepare("SELECT 1")
  print("> names", tostring(drv), tostring(con), tostring(stmt), drv:name())
  print("> result", tostring(con:query("SELECT 1")))
  print("> param", tostring(stmt:bind_create(sysbench.sql.type.INT)))
end
