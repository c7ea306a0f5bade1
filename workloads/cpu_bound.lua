-- A statement that does nothing but compute: no table, no disk, no lock, hardly any network.
--
-- Why it exists: to see what processors give (cores, hardware threads, frequency, binding) through
-- a database that needs nothing else. How to read it: events per second by clients, beside the
-- CPU that the server used. docs/workloads/cpu_bound.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")

local MOST = 90000000

sysbench.cmdline.options = {
  rows = { "Rows that a statement makes and adds up, rounded up to a first digit and zeros",
    100000 },
}

-- `rows` as a digit, and the number of zeros behind it.
local function rounded()
  local rows, zeros = math.ceil(sysbench.opt.rows), 0
  if rows < 1 or rows > MOST then
    error(("--rows=%s: expected a number from 1 to %d"):format(sysbench.opt.rows, MOST), 0)
  end
  while rows > 9 do
    rows, zeros = math.ceil(rows / 10), zeros + 1
  end
  return rows, zeros
end

local function digits(count)
  local rows = {}
  for digit = 0, count - 1 do
    rows[digit + 1] = "SELECT " .. digit .. " AS d"
  end
  return table.concat(rows, " UNION ALL ")
end

-- Every combination of a first digit and so many more is a row: no table, no sequence, no
-- recursion, so that every database makes them by the same plain joins.
local function statement_of(first, zeros)
  local number, from = {}, {}
  for place = 0, zeros do
    local name = "d" .. place
    number[place + 1] = ("%s.d * %d"):format(name, 10 ^ place)
    from[place + 1] = ("(%s) %s"):format(digits(place == zeros and first or 10), name)
  end
  local n = "(" .. table.concat(number, " + ") .. ")"
  return ("SELECT SUM((%s %% 1009) * (%s %% 1013)), COUNT(*) FROM %s"):format(
    n, n, table.concat(from, " CROSS JOIN "))
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
  local first, zeros = rounded()
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
