-- prepare
function prepare() print("> prepare", sysbench.tid) end
function cleanup() print("> cleanup") end
