-- Inserts of one row.
--
-- Why it exists: tables that only grow, one commit a row.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")
require("parts.sql").on_clickhouse = true

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
sbtest.begins_empty = true
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

thread_init, event = sbtest.connect, sbtest.insert
