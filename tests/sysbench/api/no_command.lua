--
print("> body", sysbench.tid, sysbench.cmdline.command, type(sysbench.opt))
function event() print("> never") end
