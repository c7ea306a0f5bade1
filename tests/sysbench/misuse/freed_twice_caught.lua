function event()
  con = sysbench.sql.driver():connect()
  local r =
  con:query("SELECT 1")
  print("> free " .. tostring(r:free()))
  local ok, why = pcall(r.free, r)
  print("> " .. tostring(ok) .. tostring(why))
end
