-- run --events=1 --tables=4 --ratio=0.25 --verbose --hosts=a,b --label=x,y
-- Options of every kind of default; what a script sees of them before they are known.
print("> before", type(sysbench.opt), type(sysbench.cmdline.options))

sysbench.cmdline.options = {
  tables = { "tables", 2 },
  ratio = { "a number", 0.5 },
  verbose = { "a switch", false },
  quiet = { "another", true },
  label = { "text", "none" },
  hosts = { "a list", { "one", "two" } },
  ["with-dash"] = { "a name with a dash", 7 },
  nothing = { "no default" },
  size = { "a size", "1K", sysbench.cmdline.ARG_SIZE },
}

function event()
  local o = sysbench.opt
  print("> numbers", o.tables + 1, o.ratio * 2, o.with_dash, type(o.with_dash))
  print("> switches", o.verbose, o.quiet, type(o.verbose))
  print("> text", o.label, o.nothing, type(o.nothing))
  print("> list", type(o.hosts), #o.hosts, table.concat(o.hosts, "+"))
  print("> size", o.size, type(o.size))
  print("> general", o.threads, o.events, type(o.time), o.rand_type)
  local walked, listed, name = 0, 0, next(o)
  while name do walked, name = walked + 1, next(o, name) end
  for _ in pairs(o) do listed = listed + 1 end
  o.tables = nil
  print("> walked", walked > 8, walked == listed, o.tables)
  o.tables = 9
  print("> changed", o.tables)
  tonumber = nil
  print("> removed", tonumber, type(tostring), type(string.format), type(event))
end
