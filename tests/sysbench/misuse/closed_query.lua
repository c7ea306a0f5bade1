function event()
  con = sysbench.sql.driver():connect()
  con:disconnect()
  con:query("SELECT 1")
end
