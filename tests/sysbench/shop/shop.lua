#!/usr/bin/env sysbench
-- Wholesale orders in the manner of TPC-C, written as third-party script sets are.

require("shop_tables")
require("shop_events")
require("shop_check")

sysbench.cmdline.commands = {
  prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
  check = { cmd_check, sysbench.cmdline.PARALLEL_COMMAND },
}

local LEVELS = { RC = "READ COMMITTED", RR = "REPEATABLE READ", SER = "SERIALIZABLE" }
local SHARES = {
  { 10, "buy" }, { 20, "pay" }, { 21, "ask" }, { 22, "deliver" }, { 23, "count_stock" },
}

function init()
  assert(event ~= nil, "this script is the one to be called")
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local level = assert(LEVELS[sysbench.opt.isolation], "--isolation is RC, RR or SER")
  if drv:name() == "pgsql" then
    con:query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " .. level)
  else
    con:query("SET SESSION TRANSACTION ISOLATION LEVEL " .. level)
    con:query("SET autocommit = 0")
  end
end

function thread_done()
  con:disconnect()
end

function event()
  local drawn, chosen = sysbench.rand.uniform(1, 23), nil
  for _, share in ipairs(SHARES) do
    chosen = chosen or drawn <= share[1] and share[2] or nil
  end
  while true do
    local fine, problem = pcall(function() _G[chosen]() end)
    if fine then
      return
    end
    con:query("ROLLBACK")
    ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
    if type(problem) ~= "table" then
      error(problem, 0)
    end
  end
end

function sysbench.hooks.report_intermediate(stat)
  sysbench.report_csv(stat)
end

function sysbench.hooks.report_cumulative(stat)
  local statements = stat.reads + stat.writes + stat.other
  print(("> events %d, at percentile %d"):format(stat.events, sysbench.opt.percentile))
  print(("> more than three statements an event: %s"):format(statements > 3 * stat.events))
end
