-- run --events=3
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function sysbench.hooks.sql_error_ignorable(e)
  print("> ignorable?", e.sql_state)
  return true
end
local tries = 0
function event()
  tries = tries + 1
  if tries == 1 then
    con:query("SELECT * FROM api_no_such_table")
    print("> never")
  end
end
