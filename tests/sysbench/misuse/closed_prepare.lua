function event()
  con = sysbench.sql.driver():connect()
  con:disconnect() con:prepare("SELECT 1")
end
