-- work
function work() print("> work", sysbench.tid) end
sysbench.cmdline.commands = { work = { work, sysbench.cmdline.PARALLEL_COMMAND } }
