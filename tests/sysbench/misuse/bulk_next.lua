function event()
  con = sysbench.sql.driver():connect()
  con:bulk_insert_next("(1)")
end
