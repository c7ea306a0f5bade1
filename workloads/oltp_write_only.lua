-- Transactions that write: two kinds of updates, a delete and an insert.
--
-- Why it exists: the writing part of oltp_read_write alone.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local begin, commit, index_updates, non_index_updates, delete_inserts

function thread_init()
  sbtest.connect()
  begin, commit = sbtest.transaction(true)
  index_updates = sbtest.index_updates()
  non_index_updates = sbtest.non_index_updates()
  delete_inserts = sbtest.delete_inserts()
end

function event()
  begin()
  index_updates()
  non_index_updates()
  delete_inserts()
  commit()
end
