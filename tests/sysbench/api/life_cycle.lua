-- run --events=4 --threads=2
-- Each line in one piece: clients write at the same time.
local function say(...) io.write("> " .. table.concat({ ... }, " ") .. "\n") end
function init() say("init", sysbench.tid) end
function thread_init(id) say("thread_init", id, sysbench.tid) end
function event() count = (count or 0) + 1 end
function thread_done(id) say("thread_done", id) end
function done() say("done", tostring(count)) end
