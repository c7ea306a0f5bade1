function event()
  con = sysbench.sql.driver():connect()
  print("> " .. tostring(con:disconnect()))
  print("> " .. tostring(con:disconnect()))
end
