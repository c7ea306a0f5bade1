function sysbench.hooks.sql_error_ignorable(e)
  local names = {}
  for k, v in pairs(e) do names[#names+1] = k end
  table.sort(names)
  print("> " .. table.concat(names, " "))
  print("> con " .. tostring(e.connection))
  print("> errno " .. tostring(e.sql_errno))
end
function event()
  con = sysbench.sql.driver():connect()
  con:query("SELECT * FROM nowhere")
end
