function event()
  con = sysbench.sql.driver():connect()
  local r =
  con:query("SELECT 1") r:free()
  print("> row " .. tostring(r:fetch_row()))
end
