-- greet
function greet() print("> greet") return false end
sysbench.cmdline.commands = { greet = { greet } }
