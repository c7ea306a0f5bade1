-- A statement that does nothing but compute: no table, no disk, no lock, hardly any network.
--
-- Why it exists: to measure processors (cores, hardware threads, frequency, binding) through a
-- database, without other resources. How to read it: events per second by clients, beside the CPU
-- that the server used. docs/workloads/cpu_bound.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local digits = require("parts.digits")

local MOST = 90000000

sysbench.cmdline.options = {
  rows = { "Rows that a statement makes and adds up, rounded up to a first digit and zeros",
    100000 },
}

if dbdyno then
  dbdyno.volume = function(opt)
    return { rows = 0, bytes = 0, event_s = opt.rows * 4e-7 }
  end
end

local function statement_of(first, zeros)
  local n, from = digits.rows(first, zeros)
  return ("SELECT SUM((%s %% 1009) * (%s %% 1013)), COUNT(*) FROM %s"):format(n, n, from)
end

local function answer(rows)
  local total = 0
  for n = 0, rows - 1 do
    total = total + (n % 1009) * (n % 1013)
  end
  return total
end

local compute, total, count

function prepare() end

function cleanup() end

function thread_init()
  local first, zeros = digits.rounded("rows", sysbench.opt.rows, MOST)
  count = first * 10 ^ zeros
  total = answer(count)
  compute = sql.statement(sql.connect(), statement_of(first, zeros))
end

function event()
  local found, rows = sql.row(compute())
  if tonumber(found) ~= total or tonumber(rows) ~= count then
    error(("the server added %s rows up to %s; right are %d and %.0f"):format(
      rows, found, count, total), 0)
  end
end
