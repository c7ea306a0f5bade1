-- Wholesale orders in the manner of TPC-C: nine tables and five transactions, most of which write.
--
-- Why it exists: it is the usual model of a busy order system, with joins, hot rows, remote writes,
-- deletions and conditions that show whether the database kept its guarantees. How to read it:
-- events by label; `new_order` events per minute are compared, and they are not tpmC.
-- docs/workloads/tpcc_like.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local check = require("parts.check")
local draw = require("parts.tpcc_draw")
local tables = require("parts.tpcc_tables")
local verify = require("parts.tpcc_check")
local transactions = require("parts.tpcc_transactions")

sysbench.cmdline.options = check.options(sql.options {
  warehouses = { "Warehouses: the scale; about 100 MB each", 1 },
  reduction = { "Divide customers, orders and items of a warehouse by this", 1 },
  home = { "random: each event draws its warehouse; fixed: each client keeps one", "random" },
  mix = { "Percent of new_order, payment, order_status, delivery, stock_level",
    "45,43,4,4,4", sysbench.cmdline.ARG_LIST },
  keying = { "Wait before each event as if it were typed in: 18, 3, 2, 2, 2 s", false },
  thinking = { "Wait after each event: 12, 12, 10, 5, 5 s on average", false },
  wait_scale = { "Multiply the times of keying and thinking by this", 1 },
})

if dbdyno then
  dbdyno.volume = function(opt)
    local function divided(amount, least)
      return math.max(least, math.floor(amount / opt.reduction))
    end
    local customers, items = divided(3000, 30), divided(100000, 100)
    local lines = 0
    for order = 1, customers do
      lines = lines + 5 + (order * 7 + math.floor(order / 11)) % 11
    end
    local waiting = customers - math.floor(customers * 0.7)
    local district = 1 + 3 * customers + waiting + lines
    local rows = opt.warehouses * (1 + 10 * district + items) + items
    return { rows = rows, bytes = rows * 200, event_bytes = 500 }
  end
end

local KINDS = {
  { name = "new_order", keying_s = 18, thinking_s = 12 },
  { name = "payment", keying_s = 3, thinking_s = 12 },
  { name = "order_status", keying_s = 2, thinking_s = 10 },
  { name = "delivery", keying_s = 2, thinking_s = 5 },
  { name = "stock_level", keying_s = 2, thinking_s = 5 },
}

local uniform, label = sysbench.rand.uniform, sql.label

cleanup = tables.cleanup

local function verify_tables(connection)
  verify(connection, draw.size())
end

done = check.after(verify_tables)

sysbench.cmdline.commands = {
  prepare = { tables.prepare, sysbench.cmdline.PARALLEL_COMMAND },
  check = { function() verify_tables(sql.connect()) end },
}

-- The transaction kind of each number from 1 to 100.
local chosen = {}

local function read_mix()
  for place, share in ipairs(sysbench.opt.mix) do
    for _ = 1, tonumber(share) or 0 do
      chosen[#chosen + 1] = KINDS[place]
    end
  end
  if #chosen ~= 100 or #sysbench.opt.mix ~= #KINDS then
    error(("--mix=%s: expected five whole numbers that add up to 100"):format(
      table.concat(sysbench.opt.mix, ",")), 0)
  end
end

function event()
  local name = chosen[uniform(1, 100)].name
  label(name)
  transactions[name]()
end

-- Retries the transaction until the server does not roll it back.
local function complete(act)
  repeat
    local fine, problem = pcall(act)
    if not fine and not (type(problem) == "table"
        and problem.errcode == sysbench.error.RESTART_EVENT) then
      error(problem, 0)
    end
  until fine
end

local function thought_s(kind)
  return math.min(-math.log(1 - sysbench.rand.uniform_double()), 10) * kind.thinking_s
end

-- A client at a terminal: it waits outside of its events, whose times therefore include no waiting.
local function at_terminal(number)
  local opt, before_s = sysbench.opt, 0
  while true do
    local kind = chosen[uniform(1, 100)]
    local wait_s = before_s + (opt.keying and kind.keying_s or 0)
    ffi.C.usleep(wait_s * opt.wait_scale * 1e6)
    if not ffi.C.sb_more_events(number) then
      return
    end
    ffi.C.sb_event_start(number)
    label(kind.name)
    complete(transactions[kind.name])
    ffi.C.sb_event_stop(number)
    before_s = opt.thinking and thought_s(kind) or 0
  end
end

function thread_init()
  read_mix()
  transactions.connect()
  if sysbench.opt.keying or sysbench.opt.thinking then
    thread_run = at_terminal
  end
end
