-- greet --a=5
sysbench.cmdline.options = { a = { "a number", 1 } }
function greet() print("> greet", sysbench.opt.a, sysbench.cmdline.command, sysbench.tid) end
sysbench.cmdline.commands = { greet = { greet } }
