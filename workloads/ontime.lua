-- Fifteen questions to a wide table of flights: 109 columns, of which a query reads two or three.
--
-- Why it exists: a row store reads whole rows to answer them, a column store the columns asked for;
-- and a table that another server holds is reached at the price of what must be sent. How to read
-- it: an event is a query, its time stands under its label; before the first event each result is
-- compared with what the rows must give. docs/workloads/ontime.md
--
-- Runs on PostgreSQL, MySQL, MariaDB, SQLite, DuckDB and ClickHouse.

local sql = require("parts.sql")
local flights = require("parts.ontime_rows")
local results = require("parts.ontime_results")
sql.on_duckdb, sql.on_clickhouse = true, true

sysbench.cmdline.options = sql.options {
  rows = { "Flights, from October 1987 to December 2018", 100000 },
  rounds = { "How often a client asks all queries; 0: until time or events are over", 1 },
  query = { "0 asks all, 1 to 15 that one", 0 },
  indexes = { "Indexes of what the queries filter and group by", false },
  foreign = { "postgres_fdw: the table is read through a foreign table of the same server", "" },
}

if dbdyno then
  dbdyno.volume = function(opt)
    return { rows = opt.rows, bytes = opt.rows * 430, event_s = opt.rows * 4e-7 }
  end
end

local INDEXES = {
  "Year, DepDelay", "Carrier", "Origin", "DayOfWeek", "OriginCityName", "DepDel15",
}

-- Year and Carrier stand for themselves; the span of the original is 2000 to 2008.
local SPAN = "Year >= 2000 AND Year <= 2008"

local function late_by_carrier(years)
  return ("SELECT a.Carrier, c, c2, c * 1000 / c2 AS c3 FROM "
    .. "(SELECT Carrier, COUNT(*) AS c FROM %%s WHERE DepDelay > 10 AND %s GROUP BY Carrier) a "
    .. "JOIN (SELECT Carrier, COUNT(*) AS c2 FROM %%s WHERE %s GROUP BY Carrier) b "
    .. "ON a.Carrier = b.Carrier ORDER BY c3 DESC"):format(years, years)
end

local LATE_BY_YEAR = "SELECT a.Year, c1 / c2 FROM "
  .. "(SELECT Year, COUNT(*) * 1000 AS c1 FROM %s WHERE DepDelay > 10 GROUP BY Year) a "
  .. "JOIN (SELECT Year, COUNT(*) AS c2 FROM %s GROUP BY Year) b ON a.Year = b.Year"

local QUERIES = {
  "SELECT DayOfWeek, COUNT(*) AS c FROM %s WHERE " .. SPAN .. " GROUP BY DayOfWeek ORDER BY c DESC",
  "SELECT DayOfWeek, COUNT(*) AS c FROM %s WHERE DepDelay > 10 AND " .. SPAN
    .. " GROUP BY DayOfWeek ORDER BY c DESC",
  "SELECT Origin, COUNT(*) AS c FROM %s WHERE DepDelay > 10 AND " .. SPAN
    .. " GROUP BY Origin ORDER BY c DESC LIMIT 10",
  "SELECT Carrier, COUNT(*) AS c FROM %s WHERE DepDelay > 10 AND Year = 2007 "
    .. "GROUP BY Carrier ORDER BY c DESC",
  late_by_carrier("Year = 2007"),
  late_by_carrier(SPAN),
  "SELECT Carrier, AVG(DepDelay) * 1000 AS c3 FROM %s WHERE " .. SPAN .. " GROUP BY Carrier",
  "SELECT Year, AVG(DepDelay) FROM %s GROUP BY Year",
  "SELECT Year, COUNT(*) AS c1 FROM %s GROUP BY Year",
  "SELECT AVG(c1) FROM (SELECT Year, Month, COUNT(*) AS c1 FROM %s WHERE DepDel15 = 1 "
    .. "GROUP BY Year, Month) a",
  "SELECT AVG(c1) FROM (SELECT Year, Month, COUNT(*) AS c1 FROM %s GROUP BY Year, Month) a",
  "SELECT OriginCityName, DestCityName, COUNT(*) AS c FROM %s "
    .. "GROUP BY OriginCityName, DestCityName ORDER BY c DESC LIMIT 10",
  "SELECT OriginCityName, COUNT(*) AS c FROM %s GROUP BY OriginCityName ORDER BY c DESC LIMIT 10",
  LATE_BY_YEAR .. " ORDER BY a.Year",
  LATE_BY_YEAR,
}

local FOREIGN = "elsewhere"

local function foreign()
  local wrapper = sysbench.opt.foreign
  if wrapper ~= "" and (wrapper ~= "postgres_fdw" or sql.name() ~= "pgsql") then
    error(("--foreign=%s: expected nothing, or postgres_fdw with PostgreSQL"):format(wrapper), 0)
  end
  return wrapper ~= ""
end

-- A foreign table over a connection of the server to itself.
local function add_foreign_table(connection)
  local folder, port, database, user = sql.row(connection:query(
    "SELECT split_part(current_setting('unix_socket_directories'), ',', 1), "
      .. "current_setting('port'), current_database(), current_user"))
  connection:query("CREATE EXTENSION postgres_fdw")
  connection:query(("CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', "
    .. "port '%s', dbname '%s')"):format(folder, port, database))
  connection:query(("CREATE USER MAPPING FOR CURRENT_USER SERVER itself OPTIONS (user '%s', "
    .. "password_required 'false')"):format(user))
  connection:query("CREATE SCHEMA " .. FOREIGN)
  connection:query("IMPORT FOREIGN SCHEMA public LIMIT TO (ontime) FROM SERVER itself INTO "
    .. FOREIGN)
end

local CLICKHOUSE_TYPES = { INTEGER = "Int32" }

-- ClickHouse's columns hold no NULL unless they say so, which costs time.
local function type_of(column)
  if sql.name() ~= "clickhouse" then
    return column[2]
  end
  local name = CLICKHOUSE_TYPES[column[2]] or "String"
  return column[3] and "Nullable(" .. name .. ")" or name
end

function prepare()
  local connection = sql.connect()
  local through, columns, names = foreign(), {}, {}
  for place, column in ipairs(flights.COLUMNS) do
    columns[place], names[place] = column[1] .. " " .. type_of(column), column[1]
  end
  sql.create_table(connection, "ontime", table.concat(columns, ", "), "(Year, FlightDate)")
  sql.begin_rows(connection, "ontime (" .. table.concat(names, ", ") .. ")")
  for number = 1, sysbench.opt.rows do
    connection:bulk_insert_next("(" .. flights.row(number, sysbench.opt.rows) .. ")")
  end
  connection:bulk_insert_done()
  if sysbench.opt.indexes then
    for place, indexed in ipairs(INDEXES) do
      connection:query(("CREATE INDEX ontime_%d ON ontime (%s)"):format(place, indexed))
    end
  end
  -- Nothing changes from here on.
  if sql.name() == "pgsql" then
    connection:query("VACUUM (FREEZE, ANALYZE) ontime")
  end
  if through then
    add_foreign_table(connection)
    connection:query("ANALYZE " .. FOREIGN .. ".ontime")
  end
end

function cleanup()
  local connection = sql.connect()
  if foreign() then
    connection:query("DROP SCHEMA IF EXISTS " .. FOREIGN .. " CASCADE")
    connection:query("DROP EXTENSION IF EXISTS postgres_fdw CASCADE")
  end
  sql.drop_tables(connection, { "ontime" })
end

local function texts()
  local name, list = foreign() and FOREIGN .. ".ontime" or "ontime", {}
  for place, query in ipairs(QUERIES) do
    list[place] = query:gsub("%%s", name)
  end
  return list
end

local EXPLAIN = { pgsql = "EXPLAIN VERBOSE ", mysql = "EXPLAIN ", sqlite = "EXPLAIN QUERY PLAN " }

local function print_plan(connection, place, query)
  local explain = EXPLAIN[sql.name()]
  local plan = explain and connection:query(explain .. query)
  for _ = 1, plan and plan.nrows or 0 do
    local row = plan:fetch_row()
    for column = 1, plan.nfields do
      row[column] = row[column] or "NULL"
    end
    print(("query %d: %s"):format(place, table.concat(row, " | ")))
  end
end

-- Compares every result with what the rows give, and prints the plans.
local function verify(connection)
  local expected = results.expected(sysbench.opt.rows)
  for place, query in ipairs(texts()) do
    print_plan(connection, place, query)
    local problem = results.problem(expected[place], connection:query(query))
    if problem then
      error(("query %d: %s: the rows are not those that `prepare` loads with --rows=%d, or the "
        .. "server is wrong"):format(place, problem, sysbench.opt.rows), 0)
    end
  end
end

sysbench.cmdline.commands = { check = { function() verify(sql.connect()) end } }

local connection
local asked, turn = {}, 0

function thread_init()
  local opt = sysbench.opt
  if opt.query < 0 or opt.query > #QUERIES or opt.query % 1 ~= 0 then
    error(("--query=%s: expected 0 for all, or 1 to %d"):format(opt.query, #QUERIES), 0)
  end
  connection = sql.connect()
  verify(connection)
  for place, query in ipairs(texts()) do
    if opt.query == 0 or opt.query == place then
      asked[#asked + 1] = { query, "query " .. place }
    end
  end
end

function event()
  local rounds = sysbench.opt.rounds
  if rounds > 0 and turn == rounds * #asked then
    return true
  end
  local query = asked[turn % #asked + 1]
  turn = turn + 1
  sql.label(query[2])
  connection:query(query[1])
end
