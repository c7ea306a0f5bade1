-- Differences between SQL dialects, and code that all workloads share.
--
-- `local sql = require("parts.sql")`; each client has its own copy, which caches what it finds out.

local ffi = require("ffi")

local sql = {}

ffi.cdef "int usleep(unsigned int microseconds);"

local driver_name
-- sysbench closes a connection that is referenced only by its statements.
local connections = {}

local LEVELS = { ["READ COMMITTED"] = true, ["REPEATABLE READ"] = true, SERIALIZABLE = true }
local SET_LEVEL = {
  mysql = "SET SESSION TRANSACTION ISOLATION LEVEL ",
  pgsql = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ",
}

-- Whether the script's statements are such that DuckDB has them, too.
sql.on_duckdb = false

-- Whether ClickHouse has them: it reads and inserts, without transactions.
sql.on_clickhouse = false

-- A connection whose transactions have the level of the option `isolation`, and the driver's name:
-- "mysql" (MariaDB too), "pgsql", "sqlite" or "duckdb", whose transactions have one level, or
-- "clickhouse", which has none.
function sql.connect()
  local driver, level = sysbench.sql.driver(), sysbench.opt.isolation or ""
  driver_name = driver:name()
  if driver_name == "duckdb" and not sql.on_duckdb then
    error("this script is not for DuckDB, which lacks statements of it; those for DuckDB: "
      .. "oltp_*, select_random_*, bulk_insert, micro and ontime", 0)
  end
  if driver_name == "clickhouse" and not sql.on_clickhouse then
    error("this script is not for ClickHouse, which lacks statements of it; those for ClickHouse: "
      .. "oltp_point_select, oltp_read_only, oltp_insert, select_random_*, bulk_insert, "
      .. "micro and ontime", 0)
  end
  if level ~= "" and not LEVELS[level] then
    error(("--isolation=%s: expected READ COMMITTED, REPEATABLE READ, SERIALIZABLE, or nothing "
      .. "for the server's own"):format(level), 0)
  end
  local connection = driver:connect()
  connections[#connections + 1] = connection
  if level ~= "" and SET_LEVEL[driver_name] then
    connection:query(SET_LEVEL[driver_name] .. level)
  end
  return connection, driver_name
end

function sql.name()
  driver_name = driver_name or sysbench.sql.driver():name()
  return driver_name
end

-- `own` with the options that every workload with tables has.
function sql.options(own)
  own.storage_engine = { "Storage engine of the tables, MySQL and MariaDB only", "innodb" }
  own.create_table_options = { "What goes behind each CREATE TABLE", "" }
  own.isolation = { "Isolation level of all transactions; empty: the server's own", "" }
  return own
end

-- What follows the columns of a table of ClickHouse whose rows are found by `id`.
sql.MERGE_TREE = " ENGINE = MergeTree ORDER BY id"

-- ClickHouse keeps the rows in the order of `key`, `id` unless it is given.
function sql.create_table(connection, name, columns, key)
  local engine = sql.name() == "mysql" and " ENGINE=" .. sysbench.opt.storage_engine or ""
  if sql.name() == "clickhouse" then
    engine = key and sql.MERGE_TREE:gsub("id$", key) or sql.MERGE_TREE
  end
  connection:query(("CREATE TABLE %s (%s)%s %s"):format(
    name, columns, engine, sysbench.opt.create_table_options))
end

function sql.drop_tables(connection, names)
  for _, name in ipairs(names) do
    connection:query("DROP TABLE IF EXISTS " .. name)
  end
end

local LISTED = {
  mysql = "SELECT COUNT(*) FROM information_schema.tables "
    .. "WHERE table_schema = DATABASE() AND table_name = '%s'",
  pgsql = "SELECT COUNT(*) FROM information_schema.tables "
    .. "WHERE table_schema = current_schema() AND table_name = '%s'",
  sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '%s'",
  duckdb = "SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = '%s'",
  clickhouse = "SELECT COUNT(*) FROM system.tables "
    .. "WHERE database = currentDatabase() AND name = '%s'",
}

function sql.exists(connection, name)
  return tonumber((connection:query_row(LISTED[sql.name()]:format(name)))) > 0
end

-- Workers other than the first wait here until it has created the table.
function sql.await_table(connection, name)
  while not sql.exists(connection, name) do
    ffi.C.usleep(10000)
  end
end

-- This worker's numbers from 1 to `last`: `for n in sql.share(last) do`.
function sql.share(last)
  local number = sysbench.tid % sysbench.opt.threads + 1 - sysbench.opt.threads
  return function()
    number = number + sysbench.opt.threads
    return number <= last and number or nil
  end
end

-- The random numbers of a bulk insert restart from the seed and its text, whoever loads. Parts of
-- one table need different texts, or all would get the same rows: `number` is encoded as white
-- space.
function sql.begin_rows(connection, table_and_columns, number)
  local blanks = {}
  number = number or 0
  repeat
    blanks[#blanks + 1] = number % 2 == 1 and "\t" or " "
    number = math.floor(number / 2)
  until number == 0
  connection:bulk_insert_init("INSERT INTO " .. table_and_columns .. table.concat(blanks)
    .. "VALUES")
end

-- The start of a transaction that will write. SQLite has one writer: a transaction that takes the
-- lock only at its first write may find that another has changed rows it read.
function sql.begin()
  return sql.name() == "sqlite" and "BEGIN IMMEDIATE" or "BEGIN"
end

-- The clause that locks rows read by a SELECT; SQLite's transactions have locked all of them.
function sql.for_update()
  return sql.name() == "sqlite" and "" or " FOR UPDATE"
end

local TYPES = sysbench.sql.type
sql.INTEGER, sql.BIGINT, sql.DOUBLE = TYPES.INT, TYPES.BIGINT, TYPES.DOUBLE

-- A type for `sql.prepare`: text of at most so many bytes.
function sql.text(bytes)
  return { bytes }
end

-- A prepared statement, then its parameters, one for each type.
function sql.prepare(connection, text, ...)
  local statement = connection:prepare(text)
  local parameters = { ... }
  for place, kind in ipairs(parameters) do
    if type(kind) == "table" then
      parameters[place] = statement:bind_create(TYPES.VARCHAR, kind[1])
    else
      parameters[place] = statement:bind_create(kind)
    end
  end
  if #parameters > 0 then
    statement:bind_param(unpack(parameters))
  end
  return statement, unpack(parameters)
end

local makers = {}

-- A function that sets this many parameters and executes; one is compiled for each number.
local function maker(count)
  if not makers[count] then
    local parameters, values, sets = {}, {}, {}
    for place = 1, count do
      parameters[place], values[place] = "p" .. place, "v" .. place
      sets[place] = ("p%d:set(v%d)"):format(place, place)
    end
    makers[count] = loadstring(("local s%s = ... return function(%s) %s return s:execute() end")
      :format(count > 0 and ", " .. table.concat(parameters, ", ") or "",
        table.concat(values, ", "), table.concat(sets, " ")))
  end
  return makers[count]
end

-- A prepared statement as a function of its parameters, whose types are given: it returns what
-- `execute` does. nil is NULL.
function sql.statement(connection, text, ...)
  return maker(select("#", ...))(sql.prepare(connection, text, ...))
end

-- The columns of the first row of a result, or nil.
function sql.row(found)
  local row = found:fetch_row()
  if row then
    return unpack(row, 1, found.nfields)
  end
end

-- Labels the current event, if the program supports labels.
sql.label = dbdyno and dbdyno.label or function() end

return sql
