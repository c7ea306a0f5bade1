function event()
  con = sysbench.sql.driver():connect()
  con:disconnect() con:query_row("SELECT 1")
end
