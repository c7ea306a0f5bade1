-- CREATE TABLE and DROP TABLE, hundreds of them, one statement per event.
--
-- Why it exists: loads that keep their tables don't show how a data dictionary and a file system
-- handle creating and dropping them. How to read it: the time of each statement, by label, and the
-- total time. docs/workloads/ddl_storm.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite (one schema there).

local sql = require("parts.sql")

sysbench.cmdline.options = sql.options {
  schemas = { "Schemas; SQLite has one", 16 },
  tables = { "Tables of each schema", 500 },
  columns = { "Columns of type INTEGER in each table; the first is no key", 1 },
  mode = { "create or drop: each table once; cycle: in turn; storm: create all, drop schemas",
    "cycle" },
}

if dbdyno then
  dbdyno.volume = function(opt)
    -- Empty tables, each with a file of its own.
    return { rows = 0, bytes = opt.schemas * opt.tables * 100000, event_s = 0.008 }
  end
end

local function schema_of(number)
  return "storm" .. number
end

local function schemas()
  return sql.name() == "sqlite" and 1 or sysbench.opt.schemas
end

local function table_of(schema, number)
  if sql.name() == "sqlite" then
    return "storm_table" .. number
  end
  return ("%s.storm_table%d"):format(schema_of(schema), number)
end

local function prepare_schemas()
  local connection = sql.connect()
  if sql.name() ~= "sqlite" then
    for schema in sql.share(schemas()) do
      connection:query("CREATE SCHEMA " .. schema_of(schema))
    end
  end
end

function cleanup()
  local connection = sql.connect()
  for schema = 1, schemas() do
    if sql.name() == "sqlite" then
      for number = 1, sysbench.opt.tables do
        connection:query("DROP TABLE IF EXISTS " .. table_of(schema, number))
      end
    else
      local cascade = sql.name() == "pgsql" and " CASCADE" or ""
      connection:query("DROP SCHEMA IF EXISTS " .. schema_of(schema) .. cascade)
    end
  end
end

local COUNTS = {
  mysql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema LIKE 'storm%'",
  pgsql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema LIKE 'storm%'",
  sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'storm%'",
}

-- After `create` all tables must exist, after the others none.
local function verify()
  local connection = sql.connect()
  local found = tonumber((connection:query_row(COUNTS[sql.name()])))
  local expected = sysbench.opt.mode == "create" and schemas() * sysbench.opt.tables or 0
  if found ~= expected then
    error(("after mode %s there are %d tables and not %d: was the run cut short?"):format(
      sysbench.opt.mode, found, expected), 0)
  end
end

sysbench.cmdline.commands = {
  prepare = { prepare_schemas, sysbench.cmdline.PARALLEL_COMMAND },
  check = { verify },
}

local connection, columns, place

local function create(schema, number)
  sql.label("create")
  sql.create_table(connection, table_of(schema, number), columns)
end

local function drop(schema, number)
  sql.label("drop")
  connection:query("DROP TABLE " .. table_of(schema, number))
end

-- The client's next table; nil after its last. Client n takes every `clients`-th table, so that the
-- clients of a run meet in every schema.
local function following()
  local count = schemas()
  if place >= count * sysbench.opt.tables then
    return nil
  end
  local schema, number = place % count + 1, math.floor(place / count) + 1
  return schema, number
end

-- Returning true ends the client: it has nothing left to do.
local function once(act)
  return function()
    local schema, number = following()
    if not schema then
      return true
    end
    act(schema, number)
    place = place + sysbench.opt.threads
  end
end

local created

-- Creates a table and drops it in the next event; its tables in turn, for ever.
local function cycle()
  local schema, number = following()
  if not schema then
    place = sysbench.tid
    schema, number = following()
  end
  if not created then
    create(schema, number)
    created = true
  else
    drop(schema, number)
    created = false
    place = place + sysbench.opt.threads
  end
end

-- Each client fills schemas of its own, table by table, then drops each of them whole.
local function storm()
  local opt = sysbench.opt
  local own = math.ceil((schemas() - sysbench.tid) / opt.threads)
  if place < own * opt.tables then
    create(sysbench.tid + 1 + math.floor(place / opt.tables) * opt.threads, place % opt.tables)
  elseif place < own * opt.tables + own then
    sql.label("drop schema")
    local cascade = sql.name() == "pgsql" and " CASCADE" or ""
    connection:query("DROP SCHEMA "
      .. schema_of(sysbench.tid + 1 + (place - own * opt.tables) * opt.threads) .. cascade)
  else
    return true
  end
  place = place + 1
end

local MODES = { create = once(create), drop = once(drop), cycle = cycle, storm = storm }

local function check_options(opt)
  if not MODES[opt.mode] then
    error(("--mode=%s: expected create, drop, cycle or storm"):format(opt.mode), 0)
  end
  if opt.mode == "storm" and sql.name() == "sqlite" then
    error("--mode=storm: SQLite has no schemas to drop", 0)
  end
  local count, what = schemas() * opt.tables, "tables"
  if opt.mode == "storm" then
    count, what = schemas(), "schemas"
  end
  if opt.threads > count then
    error(("%d clients have only %d %s between them: raise --tables or --schemas"):format(
      opt.threads, count, what), 0)
  end
end

function thread_init()
  local opt = sysbench.opt
  check_options(opt)
  event = MODES[opt.mode]
  connection, place, created = sql.connect(), opt.mode == "storm" and 0 or sysbench.tid, false
  local names = {}
  for column = 1, opt.columns do
    names[column] = ("c%d INTEGER"):format(column)
  end
  columns = table.concat(names, ", ")
end

-- Drops a table that a cycle has left.
function thread_done()
  if created then
    connection:query("DROP TABLE " .. table_of(following()))
  end
end

event = cycle
