-- help
-- Options without a default, and how a script shows its options itself.
sysbench.cmdline.options = {
  text = { "a text" },
  switch = { "a switch", nil, sysbench.cmdline.ARG_BOOL },
  count = { "a number", nil, sysbench.cmdline.ARG_INT },
  share = { "a share", nil, sysbench.cmdline.ARG_DOUBLE },
  size = { "a size", nil, sysbench.cmdline.ARG_SIZE },
  words = { "words", nil, sysbench.cmdline.ARG_LIST },
  colours = { "more words", { "red", "blue" } },
  ["with-dash"] = { "a name with a dash", "x" },
}

function help()
  sysbench.cmdline.print_test_options()
  for _, name in ipairs { "text", "switch", "count", "share", "size", "with_dash" } do
    print("> " .. name, type(sysbench.opt[name]), tostring(sysbench.opt[name]))
  end
  print("> words", #sysbench.opt.words, table.concat(sysbench.opt.colours, "+"))
  for _, name in ipairs { "threads", "percentile", "pgsql_host", "pgsql_port", "mysql_ssl" } do
    print("> " .. name, type(sysbench.opt[name]))
  end
  print("> commands", sysbench.cmdline.command_defined("help"))
end
