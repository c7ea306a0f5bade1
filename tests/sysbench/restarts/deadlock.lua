-- Two clients take two rows in opposite order.
ffi.cdef "int usleep(unsigned int);"

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE api_deadlock (a INT PRIMARY KEY, b INT)")
  con:query("INSERT INTO api_deadlock VALUES (1, 0), (2, 0)")
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE api_deadlock")
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function sysbench.hooks.before_restart_event(e)
  print("> again", e.sql_state == "40001" or e.sql_state == "40P01")
end

function event()
  con:query("BEGIN")
  con:query("UPDATE api_deadlock SET b = b + 1 WHERE a = " .. sysbench.tid + 1)
  ffi.C.usleep(300000)
  con:query("UPDATE api_deadlock SET b = b + 1 WHERE a = " .. 2 - sysbench.tid)
  con:query("COMMIT")
end
