-- Updates of a column without an index, each by primary key.
--
-- Why it exists: beside oltp_update_index, it shows what the index costs.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local updates

function thread_init()
  sbtest.connect()
  updates = sbtest.non_index_updates()
end

function event()
  updates()
end
