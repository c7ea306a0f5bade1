-- The tests of `micro`: their statements, and digests of the results of reading ones.

local sql = require("parts.sql")

local tests = { NAMES = {}, DESCRIPTIONS = {} }

local uniform, floor = sysbench.rand.uniform, math.floor
local statement, INTEGER = sql.statement, sql.INTEGER

-- Name → function of (connection, table name) that returns the event for this table.
local makers, reading = {}, {}

local function define(name, description, make, reads)
  tests.NAMES[#tests.NAMES + 1] = name
  tests.DESCRIPTIONS[name] = description
  makers[name], reading[name] = make, reads
end

function tests.table_name(number)
  return "micro" .. number
end

local function row_id()
  return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- A range's first and last number; all of it lies within the table.
local function range()
  local opt = sysbench.opt
  local first = sysbench.rand.default(1, math.max(1, opt.table_size - opt.range_size + 1))
  return first, first + opt.range_size - 1
end

-- A test of one reading statement with parameters from `draw`.
local function reader(text, draw, ...)
  local kinds = { ... }
  return function(connection, name)
    local asked = text
    if sql.name() == "clickhouse" then
      -- There a number in ORDER BY is a constant.
      asked = asked:gsub("ORDER BY 1$", "ORDER BY k %%%% 10")
    end
    local run = statement(connection, asked:format(name), unpack(kinds))
    return function() return run(draw()) end
  end
end

local function nothing() end

local function read(name, description, text, draw, ...)
  define(name, description, reader(text, draw, ...), true)
end

read("points", "a row by its primary key", "SELECT c FROM %s WHERE id = ?", row_id, INTEGER)
read("points_secondary", "rows by a value of the secondary index, all columns",
  "SELECT id, k, c, pad FROM %s WHERE k = ? ORDER BY id", row_id, INTEGER)
read("points_covered", "rows by a value of the secondary index, which has all that is asked for",
  "SELECT id, k FROM %s WHERE k = ? ORDER BY id", row_id, INTEGER)
define("points_in", "several rows by their primary keys, in one statement",
  function(connection, name)
    local count = sysbench.opt.points
    local kinds, ids = {}, {}
    for place = 1, count do
      kinds[place] = INTEGER
    end
    local run = statement(connection, ("SELECT id, c FROM %s WHERE id IN (%s) ORDER BY id")
      :format(name, ("?, "):rep(count - 1) .. "?"), unpack(kinds))
    return function()
      for place = 1, count do
        ids[place] = row_id()
      end
      return run(unpack(ids))
    end
  end, true)

read("range", "consecutive rows by primary key, in its order",
  "SELECT id, c FROM %s WHERE id BETWEEN ? AND ? ORDER BY id", range, INTEGER, INTEGER)
read("range_covered", "consecutive rows of the secondary index, which has all that is asked for",
  "SELECT k, id FROM %s WHERE k BETWEEN ? AND ? ORDER BY k, id", range, INTEGER, INTEGER)
read("range_secondary", "consecutive rows of the secondary index, each looked up in the table",
  "SELECT k, id, c FROM %s WHERE k BETWEEN ? AND ? ORDER BY k, id", range, INTEGER, INTEGER)
read("range_sorted", "consecutive rows by primary key, sorted by a column without index",
  "SELECT c FROM %s WHERE id BETWEEN ? AND ? ORDER BY c", range, INTEGER, INTEGER)
read("range_distinct", "the different texts of consecutive rows, sorted",
  "SELECT DISTINCT c FROM %s WHERE id BETWEEN ? AND ? ORDER BY c", range, INTEGER, INTEGER)
read("range_sum", "a sum over consecutive rows",
  "SELECT SUM(k) FROM %s WHERE id BETWEEN ? AND ?", range, INTEGER, INTEGER)
read("range_count", "how many rows the secondary index has in a range",
  "SELECT COUNT(*) FROM %s WHERE k BETWEEN ? AND ?", range, INTEGER, INTEGER)

read("scan", "all rows are read, none is returned", "SELECT id FROM %s WHERE pad = '' ORDER BY id",
  nothing)
read("scan_sum", "a sum over all rows", "SELECT SUM(k), COUNT(*) FROM %s", nothing)
read("scan_groups", "all rows in ten groups, counted and summed",
  "SELECT k %% 10, COUNT(*), SUM(id) FROM %s GROUP BY k %% 10 ORDER BY 1", nothing)
read("scan_top", "the last ten rows by a column without index",
  "SELECT id, pad FROM %s ORDER BY pad DESC, id LIMIT 10", nothing)

define("update_index", "a row by its primary key: the secondary index changes",
  function(connection, name)
    local run = statement(connection, ("UPDATE %s SET k = k + 1 WHERE id = ?"):format(name),
      INTEGER)
    return function() run(row_id()) end
  end)
define("update_non_index", "a row by its primary key: a column without index changes",
  function(connection, name)
    local run = statement(connection, ("UPDATE %s SET c = ? WHERE id = ?"):format(name),
      sql.text(120), INTEGER)
    local pattern = ("###########-"):rep(9) .. "###########"
    return function() run(sysbench.rand.string(pattern), row_id()) end
  end)
define("update_range", "consecutive rows by primary key, a column without index, in one statement",
  function(connection, name)
    local run = statement(connection,
      ("UPDATE %s SET pad = ? WHERE id BETWEEN ? AND ?"):format(name), sql.text(60), INTEGER,
      INTEGER)
    local pattern = ("###########-"):rep(4) .. "###########"
    return function()
      local first, last = range()
      run(sysbench.rand.string(pattern), first, last)
    end
  end)

-- Above the loaded rows, and unique per client: client n of N uses every N-th number.
local function fresh_ids()
  local next_id
  return function()
    local step = sysbench.opt.threads
    next_id = next_id and next_id + step
      or floor(sysbench.opt.table_size / step + 1) * step + sysbench.tid % step + 1
    return next_id
  end
end

local function inserter(connection, name)
  return statement(connection, ("INSERT INTO %s (id, k, c, pad) VALUES (?, ?, ?, ?)")
    :format(name), INTEGER, INTEGER, sql.text(120), sql.text(60))
end

local C, PAD = ("###########-"):rep(9) .. "###########", ("###########-"):rep(4) .. "###########"

define("insert", "a row above all others of its client; run it once on one load",
  function(connection, name)
    local run, fresh = inserter(connection, name), fresh_ids()
    return function()
      run(fresh(), uniform(1, sysbench.opt.table_size), sysbench.rand.string(C),
        sysbench.rand.string(PAD))
    end
  end)
define("delete", "a row by its primary key; fewer and fewer are there: run it once on one load",
  function(connection, name)
    local run = statement(connection, ("DELETE FROM %s WHERE id = ?"):format(name), INTEGER)
    return function() run(row_id()) end
  end)
define("delete_insert", "a row is deleted and inserted again, in one transaction",
  function(connection, name)
    local begin, commit = statement(connection, sql.begin()), statement(connection, "COMMIT")
    local remove = statement(connection, ("DELETE FROM %s WHERE id = ?"):format(name), INTEGER)
    local add = inserter(connection, name)
    return function()
      -- A row of the client's own, so that no other client has deleted it.
      local step = math.min(sysbench.opt.threads, sysbench.opt.table_size)
      local count = floor(sysbench.opt.table_size / step)
      local id = (sysbench.rand.default(1, count) - 1) * step + sysbench.tid % step + 1
      begin()
      remove(id)
      add(id, uniform(1, sysbench.opt.table_size), sysbench.rand.string(C),
        sysbench.rand.string(PAD))
      commit()
    end
  end)

-- Fails for a test that the database has no statements for, or that there is not.
function tests.check(name)
  if not makers[name] then
    error(("--test=%s: expected one of %s"):format(name, table.concat(tests.NAMES, ", ")), 0)
  end
  if sql.name() == "clickhouse" and not reading[name] and name ~= "insert" then
    error(("--test=%s changes rows in their place, which is not for ClickHouse; those for it: "
      .. "`insert` and all that read"):format(name), 0)
  end
end

-- The event of a test: on a random table each time.
function tests.connect(connection, name)
  tests.check(name)
  local make = makers[name]
  local acts, count = {}, sysbench.opt.tables
  for number = 1, count do
    acts[number] = make(connection, tests.table_name(number))
  end
  return function()
    sql.label(name)
    acts[uniform(1, count)]()
  end
end

-- FNV-1a in 32 bits over a result's rows in order.
local function digest_of(digest, found)
  for _ = 1, found and found.nrows or 0 do
    local row = found:fetch_row()
    for column = 1, found.nfields do
      -- Some databases pad CHAR with blanks, others strip them.
      local text = (row[column] or "NULL"):gsub(" +$", "") .. ","
      for place = 1, #text do
        digest = bit.bxor(digest, text:byte(place))
        -- Times 16777619, the prime of FNV, without leaving 32 bits.
        digest = bit.tobit(digest + bit.lshift(digest, 1) + bit.lshift(digest, 4)
          + bit.lshift(digest, 7) + bit.lshift(digest, 8) + bit.lshift(digest, 24))
      end
    end
  end
  return digest
end

-- Prints a digest of each reading test's results, with the same parameters everywhere.
function tests.digest(connection)
  for _, name in ipairs(tests.NAMES) do
    if reading[name] then
      local digest, rows = 0x811c9dc5, 0
      local acts = {}
      for number = 1, sysbench.opt.tables do
        acts[number] = makers[name](connection, tests.table_name(number))
      end
      for probe = 1, sysbench.opt.probes do
        local found = acts[probe % #acts + 1]()
        rows = rows + (found and found.nrows or 0)
        digest = digest_of(digest, found)
      end
      print(("%-22s %8d rows  %s"):format(name, rows, bit.tohex(digest)))
    end
  end
end

return tests
