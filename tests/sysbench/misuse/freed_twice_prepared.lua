function event()
  con = sysbench.sql.driver():connect()
  local s = con:prepare("SELECT 1")
  local r =
  s:execute()
  print("> free " .. tostring(r:free()))
  print("> again " .. tostring(r:free()))
end
