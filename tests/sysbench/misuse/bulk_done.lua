function event()
  con = sysbench.sql.driver():connect()
  print("> " .. tostring(con:bulk_insert_done()))
end
