function event()
  con = sysbench.sql.driver():connect()
  con:disconnect()
  con:bulk_insert_init("INSERT INTO x VALUES")
end
