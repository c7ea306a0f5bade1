function event()
  con = sysbench.sql.driver():connect()
  local s = con:prepare("SELECT ?")
  local p = s:bind_create(0)
  print("> made " .. tostring(p))
  p:set(1)
  s:bind_param(p)
  s:execute()
end
