-- Transactions that read and write: 18 statements between BEGIN and COMMIT.
--
-- Why it exists: the field's usual transaction, so that figures can be held against published ones.
-- docs/workloads/oltp.md

local sbtest = require("parts.sbtest")

sysbench.cmdline.options = sbtest.options()
sysbench.cmdline.commands = sbtest.commands
cleanup, thread_done = sbtest.cleanup, sbtest.disconnect

local begin, commit, point_selects, range_selects
local index_updates, non_index_updates, delete_inserts

function thread_init()
  sbtest.connect()
  begin, commit = sbtest.transaction(true)
  point_selects, range_selects = sbtest.point_selects(), sbtest.range_selects()
  index_updates = sbtest.index_updates()
  non_index_updates = sbtest.non_index_updates()
  delete_inserts = sbtest.delete_inserts()
end

function event()
  begin()
  point_selects()
  range_selects()
  index_updates()
  non_index_updates()
  delete_inserts()
  commit()
end
