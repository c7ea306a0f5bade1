-- Transactions that read: rows by primary key, and four kinds of ranges.
--
-- Why it exists: the reading part of oltp_read_write alone.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")
require("parts.sql").on_clickhouse = true

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local begin, commit, point_selects, range_selects

function thread_init()
  sbtest.connect()
  point_selects = sbtest.point_selects()
  begin, commit = sbtest.transaction(false)
  range_selects = sbtest.range_selects()
end

function event()
  begin()
  point_selects()
  range_selects()
  commit()
end
