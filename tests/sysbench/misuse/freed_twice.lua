function event()
  con = sysbench.sql.driver():connect()
  local r =
  con:query("SELECT 1")
  print("> free " .. tostring(r:free()))
  print("> again " .. tostring(r:free()))
end
