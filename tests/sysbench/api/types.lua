-- run --events=1
function event()
  local names = {}
  for name, value in pairs(sysbench.sql.type) do names[#names + 1] = name .. "=" .. value end
  table.sort(names)
  print("> types", table.concat(names, " "))
  print("> errors", sysbench.sql.error.NONE, sysbench.sql.error.IGNORABLE, sysbench.sql.error.FATAL)
  print("> restart", sysbench.error.NONE, sysbench.error.RESTART_EVENT)
end
