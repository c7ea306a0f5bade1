function event()
  con = sysbench.sql.driver():connect()
  con:disconnect()
  con:bulk_insert_next("(1)")
end
