-- Two clients take two rows in opposite order, the second row when both have their first.
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE api_deadlock (a INT PRIMARY KEY, b INT)")
  con:query("INSERT INTO api_deadlock VALUES (1, 0), (2, 0)")
  con:query("CREATE TABLE api_arrived (a INT PRIMARY KEY)")
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE api_deadlock")
  con:query("DROP TABLE api_arrived")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  beside = sysbench.sql.driver():connect()
end

function sysbench.hooks.before_restart_event(e)
  print("> again", e.sql_state == "40001" or e.sql_state == "40P01")
end

-- Outside of the transactions; an event that begins again has arrived already.
local function wait_for_both()
  if not arrived then
    arrived = beside:query("INSERT INTO api_arrived VALUES (" .. sysbench.tid .. ")") or true
  end
  repeat until tonumber(beside:query_row("SELECT COUNT(*) FROM api_arrived")) == 2
end

function event()
  con:query("BEGIN")
  con:query("UPDATE api_deadlock SET b = b + 1 WHERE a = " .. sysbench.tid + 1)
  wait_for_both()
  con:query("UPDATE api_deadlock SET b = b + 1 WHERE a = " .. 2 - sysbench.tid)
  con:query("COMMIT")
end
