-- Deletes of one row by primary key.
--
-- Why it exists: a delete by itself. Rows are not put back, so most events of a long run find none.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local delete

function thread_init()
  sbtest.connect()
  delete = sbtest.deletes()
end

function event()
  delete()
end
