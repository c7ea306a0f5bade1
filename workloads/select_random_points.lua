-- Rows by a list of random values of an indexed column, all in one statement.
--
-- Why it exists: many lookups in one round trip.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")
require("parts.sql").on_clickhouse = true

sysbench.cmdline.options = sbtest.options({
  random_points = { "Values in the list", 10 },
})
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local read

function thread_init()
  sbtest.connect()
  read = sbtest.by_k("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (%s)", "?", ", ",
    sysbench.opt.random_points)
end

function event()
  read()
end
