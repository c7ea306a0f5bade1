-- run --events=2
-- Events that begin again by the script's own will, with hooks; and scripts that catch it.
local tries, hooked = 0, 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

function sysbench.hooks.before_restart_event(e)
  hooked = hooked + 1
  print("> again", type(e), e.errcode == sysbench.error.RESTART_EVENT, e.why)
end

function event()
  tries = tries + 1
  con:query("SELECT 1")
  if tries <= 3 then
    error({ errcode = sysbench.error.RESTART_EVENT, why = "try " .. tries })
  end
  local fine, e = pcall(error, { errcode = sysbench.error.RESTART_EVENT })
  print("> event", tries, hooked, fine, e.errcode)
end
