-- One row by its primary key.
--
-- Why it exists: the cheapest statement that reads a table, so it shows what a round trip, a
-- prepared statement and a client cost. docs/workloads/oltp.md

local sbtest = require("parts.sbtest")
require("parts.sql").on_clickhouse = true

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local point_select

function thread_init()
  sbtest.connect()
  point_select = sbtest.point_selects(1)
end

function event()
  point_select()
end
