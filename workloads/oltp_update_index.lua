-- Updates of an indexed column, each by primary key.
--
-- Why it exists: every event changes the row and the index on k, and commits.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local updates

function thread_init()
  sbtest.connect()
  updates = sbtest.index_updates()
end

function event()
  updates()
end
