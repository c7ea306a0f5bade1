-- work --threads=3
function work() io.write("> work " .. sysbench.tid .. " " .. sysbench.opt.threads .. "\n") end
sysbench.cmdline.commands = { work = { work, sysbench.cmdline.PARALLEL_COMMAND } }
