-- run --events=1 --what=3
sysbench.cmdline.options = { a = { "a number", 1 } }
function event() print("> never") end
