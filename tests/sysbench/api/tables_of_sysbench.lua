-- run --events=1
function event()
  local names = {}
  for _, name in ipairs { "rand", "sql", "cmdline", "hooks", "error", "histogram" } do
    names[#names + 1] = name .. ":" .. type(sysbench[name])
  end
  print("> tables", table.concat(names, " "))
  local c = sysbench.cmdline
  print("> args", c.ARG_NULL, c.ARG_BOOL, c.ARG_INT, c.ARG_SIZE, c.ARG_DOUBLE, c.ARG_STRING,
    c.ARG_LIST, c.ARG_FILE, c.ARG_MAX, c.PARALLEL_COMMAND)
  print("> command", c.command, c.script_path ~= nil, c.argv[0] ~= nil, sysbench.version)
end
