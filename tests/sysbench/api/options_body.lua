-- run --events=1
print("> body", type(sysbench.opt))
function event() print("> event", type(sysbench.opt)) end
