-- Tables and statements of the field's OLTP scripts, which the `oltp_*` and `select_random_*` files
-- share: `sbtest1`, `sbtest2` … with an id, a number `k` and two texts.
--
-- Names, options, statements and the order of random draws are sysbench 1.0.20's, as its
-- documentation and servers' logs show them; the code is our own. With the same seed the server
-- gets the same statements with the same values (tests/sysbench/test_own_oltp.py).
-- docs/workloads/oltp.md

local sql = require("parts.sql")

local sbtest = {}

sql.on_duckdb = true

local C_PATTERN = ("#"):rep(11) .. ("-" .. ("#"):rep(11)):rep(9)
local PAD_PATTERN = ("#"):rep(11) .. ("-" .. ("#"):rep(11)):rep(4)
local C_BYTES, PAD_BYTES = 120, 60

local draw, uniform, text = sysbench.rand.default, sysbench.rand.uniform, sysbench.rand.string

-- Options of every script, and `own` ones.
function sbtest.options(own)
  local options = {
    tables = { "Tables", 1 },
    table_size = { "Rows of a table", 10000 },
    range_size = { "Ids in a range", 100 },
    point_selects = { "Selects of one row in an event", 10 },
    simple_ranges = { "Selects of a range in an event", 1 },
    sum_ranges = { "Sums over a range in an event", 1 },
    order_ranges = { "Sorted selects of a range in an event", 1 },
    distinct_ranges = { "Sorted selects of a range's different values in an event", 1 },
    range_selects = { "Whether an event has any of these ranges", true },
    index_updates = { "Updates of the indexed column in an event", 1 },
    non_index_updates = { "Updates of a column without an index in an event", 1 },
    delete_inserts = { "Deletes in an event, each followed by an insert of the same id", 1 },
    skip_trx = { "Each statement commits alone", false },
    auto_inc = { "The server numbers rows that prepare loads and oltp_insert adds", true },
    secondary = { "An index that is no primary key on id", false },
    create_secondary = { "An index on k", true },
    mysql_storage_engine = { "Storage engine of the tables, MySQL and MariaDB only", "innodb" },
    pgsql_variant = { "redshift: no index on k, and neither deletes nor inserts in an event; "
      .. "PostgreSQL only", "" },
  }
  for name, option in pairs(own or {}) do
    options[name] = option
  end
  return options
end

local function is_redshift()
  return sql.name() == "pgsql" and sysbench.opt.pgsql_variant == "redshift"
end

-- The column `id` where the server numbers rows, by the driver's name.
local NUMBERED = {
  mysql = "INTEGER NOT NULL AUTO_INCREMENT",
  pgsql = "SERIAL",
  redshift = "INTEGER IDENTITY(1, 1)",
  duckdb = "INTEGER NOT NULL DEFAULT nextval('sbtest%d_id')",
}

local function create_table(connection, number)
  local options, driver = sysbench.opt, sql.name()
  if driver == "clickhouse" then
    -- It numbers no rows and has no index beside the table's order.
    connection:query(("CREATE TABLE sbtest%d (id Int32, k Int32, c String, pad String)%s"):format(
      number, sql.MERGE_TREE))
    return
  end
  local id = options.auto_inc and NUMBERED[is_redshift() and "redshift" or driver]
    or "INTEGER NOT NULL"
  if options.auto_inc and driver == "duckdb" then
    -- Rows that are loaded have their ids in the statement.
    connection:query(("CREATE SEQUENCE sbtest%d_id START %d"):format(
      number, options.table_size + 1))
    id = id:format(number)
  end
  local keys, after = ", PRIMARY KEY (id)", ""
  if options.secondary then
    keys = driver == "mysql" and ", KEY xid (id)" or ""
    after = driver == "mysql" and "" or "CREATE INDEX xid_%d ON sbtest%d(id)"
  elseif options.auto_inc and driver == "sqlite" then
    id, keys = "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", ""
  end
  local engine = driver == "mysql" and " ENGINE = " .. options.mysql_storage_engine or ""
  connection:query(("CREATE TABLE sbtest%d (id %s, k INTEGER DEFAULT '0' NOT NULL, "
    .. "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL%s)%s"):format(
    number, id, keys, engine))
  if after ~= "" then
    connection:query(after:format(number, number))
  end
end

-- Whether tables begin empty unless the server numbers rows: those that events insert have random
-- ids, which may be those of rows that are there.
sbtest.begins_empty = false

local function load_rows(connection, number)
  local rows = sysbench.opt.table_size
  local numbered = sysbench.opt.auto_inc and sql.name() ~= "clickhouse"
  if sbtest.begins_empty and not numbered then
    return
  end
  -- SQLite numbers rows only of a primary key. DuckDB's way of loading rows calls no sequence.
  numbered = numbered and not (sql.name() == "sqlite" and sysbench.opt.secondary)
    and sql.name() ~= "duckdb"
  connection:bulk_insert_init(("INSERT INTO sbtest%d(%sk, c, pad) VALUES"):format(
    number, numbered and "" or "id, "))
  for id = 1, rows do
    local c, pad = text(C_PATTERN), text(PAD_PATTERN)
    local k = draw(1, rows)
    connection:bulk_insert_next(numbered and ("(%d, '%s', '%s')"):format(k, c, pad)
      or ("(%d, %d, '%s', '%s')"):format(id, k, c, pad))
  end
  connection:bulk_insert_done()
end

local function prepare_tables()
  local connection, driver = sql.connect()
  local indexed = sysbench.opt.create_secondary and not is_redshift() and driver ~= "clickhouse"
  if driver == "clickhouse" and sysbench.tid % sysbench.opt.threads == 0 then
    print("ClickHouse: tables are MergeTree in the order of id, without an index on k; the server "
      .. "numbers no rows, and each statement stands alone")
  end
  for number in sql.share(sysbench.opt.tables) do
    print(("sbtest%d: %d rows"):format(number, sysbench.opt.table_size))
    create_table(connection, number)
    load_rows(connection, number)
    if indexed then
      connection:query(("CREATE INDEX k_%d ON sbtest%d(k)"):format(number, number))
    end
  end
end

-- Reads every table once, so that what fits into the server's caches is there.
local function prewarm_tables()
  local connection, driver = sql.connect()
  local rows = sysbench.opt.table_size
  if driver == "mysql" then
    connection:query("SET tmp_table_size=2*1024*1024*1024")
    connection:query("SET max_heap_table_size=2*1024*1024*1024")
  end
  local forced = driver == "mysql" and not sysbench.opt.secondary and " FORCE KEY (PRIMARY)" or ""
  for number in sql.share(sysbench.opt.tables) do
    if driver == "mysql" then
      connection:query("ANALYZE TABLE sbtest" .. number)
    end
    connection:query(("SELECT AVG(id) FROM (SELECT * FROM sbtest%d%s LIMIT %d) t"):format(
      number, forced, rows))
    local k = driver == "mysql" and "k" or driver == "clickhouse" and "toString(k)"
      or "CAST(k AS CHAR(11))"
    connection:query(("SELECT COUNT(*) FROM (SELECT * FROM sbtest%d WHERE %s LIKE '%%0%%' "
      .. "LIMIT %d) t"):format(number, k, rows))
  end
end

function sbtest.cleanup()
  local connection = sql.connect()
  for number = 1, sysbench.opt.tables do
    connection:query("DROP TABLE IF EXISTS sbtest" .. number)
    if sql.name() == "duckdb" then
      connection:query(("DROP SEQUENCE IF EXISTS sbtest%d_id"):format(number))
    end
  end
end

sbtest.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  prewarm = { prewarm_tables, sysbench.cmdline.PARALLEL_COMMAND },
}

local connection

function sbtest.connect()
  connection = sql.connect()
  return connection
end

function sbtest.disconnect()
  connection:disconnect()
end

local function any_id()
  return draw(1, sysbench.opt.table_size)
end

-- A function that executes the statement of a random table so many times: one table in an event,
-- whose function `make` returns for its number.
local function repeated(times, make)
  local tables = sysbench.opt.tables
  local executes = {}
  for number = 1, tables do
    executes[number] = make(number)
  end
  return function()
    local execute = executes[uniform(1, tables)]
    for _ = 1, times do
      execute()
    end
  end
end

-- BEGIN and COMMIT as functions, which do nothing if each statement commits alone. `writes`: some
-- statement will. ClickHouse has no transactions.
function sbtest.transaction(writes)
  if sysbench.opt.skip_trx or sql.name() == "clickhouse" then
    local function nothing() end
    return nothing, nothing
  end
  return sql.statement(connection, writes and sql.begin() or "BEGIN"),
    sql.statement(connection, "COMMIT")
end

-- Statements whose only parameter is the id of a random row; `%d` stands for the table's number.
local function by_id(times, text)
  return repeated(times, function(number)
    local statement, id = sql.prepare(connection, text:format(number), sql.INTEGER)
    return function()
      id:set(any_id())
      statement:execute()
    end
  end)
end

function sbtest.point_selects(times)
  return by_id(times or sysbench.opt.point_selects, "SELECT c FROM sbtest%d WHERE id=?")
end

local function ranges(times, select)
  local ids = sysbench.opt.range_size - 1
  return repeated(times, function(number)
    local statement, first, last = sql.prepare(connection, select:format(number),
      sql.INTEGER, sql.INTEGER)
    return function()
      local from = any_id()
      first:set(from)
      last:set(from + ids)
      statement:execute()
    end
  end)
end

-- All four kinds of ranges; does nothing without `range_selects`.
function sbtest.range_selects()
  local options = sysbench.opt
  if not options.range_selects then
    return function() end
  end
  local simple = ranges(options.simple_ranges,
    "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?")
  local sums = ranges(options.sum_ranges,
    "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?")
  local ordered = ranges(options.order_ranges,
    "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c")
  local distinct = ranges(options.distinct_ranges,
    "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c")
  return function()
    simple()
    sums()
    ordered()
    distinct()
  end
end

function sbtest.index_updates()
  return by_id(sysbench.opt.index_updates, "UPDATE sbtest%d SET k=k+1 WHERE id=?")
end

function sbtest.non_index_updates()
  return repeated(sysbench.opt.non_index_updates, function(number)
    local statement, c, id = sql.prepare(connection,
      ("UPDATE sbtest%d SET c=? WHERE id=?"):format(number), sql.text(C_BYTES), sql.INTEGER)
    return function()
      c:set_rand_str(C_PATTERN)
      id:set(any_id())
      statement:execute()
    end
  end)
end

local DELETE = "DELETE FROM sbtest%d WHERE id=?"

function sbtest.deletes()
  return by_id(1, DELETE)
end

-- Deletes, each followed by an insert of the same id.
function sbtest.delete_inserts()
  local deletes = {}
  for number = 1, sysbench.opt.tables do
    deletes[number] = { sql.prepare(connection, DELETE:format(number), sql.INTEGER) }
  end
  local times = is_redshift() and 0 or sysbench.opt.delete_inserts
  return repeated(times, function(number)
    local delete, deleted = unpack(deletes[number])
    local insert, id, k, c, pad = sql.prepare(connection,
      ("INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)"):format(number),
      sql.INTEGER, sql.INTEGER, sql.text(C_BYTES), sql.text(PAD_BYTES))
    return function()
      local row = any_id()
      deleted:set(row)
      id:set(row)
      k:set(any_id())
      c:set_rand_str(C_PATTERN)
      pad:set_rand_str(PAD_PATTERN)
      delete:execute()
      insert:execute()
    end
  end)
end

-- A single row with a new id.
function sbtest.insert()
  local number = uniform(1, sysbench.opt.tables)
  local k, c, pad = any_id(), text(C_PATTERN), text(PAD_PATTERN)
  local columns, id = "id, ", "0, "
  if not sysbench.opt.auto_inc or sql.name() == "clickhouse" then
    -- Of 32 bits without a sign, into a column of 32 with one.
    id = ("%d, "):format(sysbench.rand.unique() - 2 ^ 31)
  elseif sql.name() ~= "mysql" then
    columns, id = "", ""
  end
  connection:query(("INSERT INTO sbtest%d (%sk, c, pad) VALUES (%s%d, '%s', '%s')"):format(
    number, columns, id, k, c, pad))
end

-- A statement over random values of `k`: `pattern` comes `times` times in it, joined by `joint`.
-- Each has a place for a value, or two for a range of `delta`. Every client has a part of the
-- values to itself.
function sbtest.by_k(select, pattern, joint, times, delta)
  local types = {}
  for place = 1, times * (delta and 2 or 1) do
    types[place] = sql.INTEGER
  end
  local list = pattern .. (joint .. pattern):rep(times - 1)
  local prepared = { sql.prepare(connection, select:format(list), unpack(types)) }
  local statement = table.remove(prepared, 1)
  local rows, threads = sysbench.opt.table_size, sysbench.opt.threads
  local number = sysbench.tid % threads
  local first = math.floor(rows * number / threads)
  local last = math.floor(rows * (number + 1) / threads)
  return function()
    local place = 1
    for _ = 1, times do
      local k = draw(first, last)
      prepared[place]:set(k)
      if delta then
        prepared[place + 1]:set(k + delta)
        place = place + 1
      end
      place = place + 1
    end
    statement:execute()
  end
end

return sbtest
