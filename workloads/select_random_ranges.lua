-- Rows counted in random ranges of an indexed column, all in one statement.
--
-- Why it exists: many short scans of an index in one round trip.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")
require("parts.sql").on_clickhouse = true

sysbench.cmdline.options = sbtest.options({
  number_of_ranges = { "Ranges in a statement", 10 },
  delta = { "Last value of a range less its first", 5 },
})
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local read

function thread_init()
  sbtest.connect()
  read = sbtest.by_k("SELECT count(k) FROM sbtest1 WHERE %s", "k BETWEEN ? AND ?", " OR ",
    sysbench.opt.number_of_ranges, sysbench.opt.delta)
end

function event()
  read()
end
