-- Sums of one number that is stored in four types: 32 and 64 bits, integers and floats.
--
-- Why it exists: a column store reads a column from its compressed blocks, so what a type costs
-- depends on its width and on how well its values compress, and the two may go against each other.
-- How to read it: `Q1` sums the column, `Q2` sums it by the minute; before the first event both are
-- compared with what the rows must give. docs/workloads/number_types.md
--
-- Runs on ClickHouse.

local sql = require("parts.sql")
sql.on_clickhouse = true

sysbench.cmdline.options = {
  rows = { "Rows, all in one part", 1000000 },
  values = { "very, somewhat or poorly compressible: nearly all 1; to 1,000; to 1,000,000",
    "somewhat" },
  column = { "The type whose column is summed: UInt32, UInt64, Float32 or Float64", "UInt32" },
}

if dbdyno then
  dbdyno.volume = function(opt)
    return { rows = 0, bytes = opt.rows * 40, event_s = 0.002 + opt.rows * 1e-9 }
  end
end

local TYPES = { UInt32 = true, UInt64 = true, Float32 = true, Float64 = true }
local MINUTES = 68
local FIRST_MINUTE = 1546300800
-- The multiplier and modulus of Park and Miller's generator, here of the row's number itself.
local FACTOR, MODULUS = 48271, 2147483647

-- The value of row `n`, counted from 0, in SQL and in Lua. Of the first set one in 2,405 is 2: the
-- published sum over the published rows, but for a ten-millionth.
local SETS = {
  very = {
    "1 + (number % 2405 = 0)",
    function(n) return n % 2405 == 0 and 2 or 1 end,
  },
  somewhat = {
    ("1 + (number * %d) %% %d %% 1000"):format(FACTOR, MODULUS),
    function(n) return 1 + n * FACTOR % MODULUS % 1000 end,
  },
  poorly = {
    ("1 + (number * %d) %% %d %% 1000000"):format(FACTOR, MODULUS),
    function(n) return 1 + n * FACTOR % MODULUS % 1000000 end,
  },
}

local function set()
  local name = sysbench.opt.values
  return SETS[name] or error(("--values=%s: expected very, somewhat or poorly"):format(name), 0)
end

local CREATE = [[
CREATE TABLE numbers_in_types (
  digest String, db_server String, db_schema String, db_username String, client_host String,
  period_start DateTime,
  nq_UInt32 UInt32, nq_UInt64 UInt64, nq_Float32 Float32, nq_Float64 Float64
) ENGINE = MergeTree PARTITION BY toYYYYMM(period_start)
ORDER BY (digest, db_server, db_username, db_schema, client_host, period_start)
SETTINGS index_granularity = 8192]]

local FILL = [[
INSERT INTO numbers_in_types
SELECT lower(hex(MD5(toString(number %% 211)))), concat('db', toString(number %% 7)),
  concat('schema', toString(number %% 11)), concat('user', toString(number %% 13)),
  concat('10.0.0.', toString(number %% 17)), toDateTime(%d + 60 * (number %% %d)),
  value, value, value, value
FROM (SELECT number, toUInt32(%s) AS value FROM system.numbers LIMIT %d)]]

local function connect()
  local connection, driver = sql.connect()
  if driver ~= "clickhouse" then
    error("number_types is for ClickHouse: it asks for types that others lack", 0)
  end
  return connection
end

function prepare()
  local connection = connect()
  connection:query(CREATE)
  connection:query(FILL:format(FIRST_MINUTE, MINUTES, set()[1], sysbench.opt.rows))
  connection:query("OPTIMIZE TABLE numbers_in_types FINAL")
end

function cleanup()
  sql.drop_tables(connect(), { "numbers_in_types" })
end

-- The sum of all values, and of each minute's by its number of seconds.
local function expected()
  local value, sum, by_minute = set()[2], 0, {}
  for n = 0, sysbench.opt.rows - 1 do
    local minute, own = FIRST_MINUTE + 60 * (n % MINUTES), value(n)
    sum = sum + own
    by_minute[minute] = (by_minute[minute] or 0) + own
  end
  return sum, by_minute
end

local function differs(place, found, truth)
  if math.abs((tonumber(found) or 0) - truth) > 1e-6 * truth then
    error(("%s is %s in place of %.0f: the rows are not those that `prepare` makes with --rows=%d "
      .. "--values=%s, or the server is wrong"):format(place, found, truth, sysbench.opt.rows,
      sysbench.opt.values), 0)
  end
end

local function verify(connection, column)
  local sum, by_minute = expected()
  differs("the sum", connection:query_row(("SELECT SUM(%s) FROM numbers_in_types"):format(column)),
    sum)
  local rows = connection:query(("SELECT toUInt32(period_start), SUM(%s) FROM numbers_in_types "
    .. "GROUP BY period_start"):format(column))
  for _ = 1, rows.nrows do
    local row = rows:fetch_row()
    differs("the sum of minute " .. row[1], row[2], by_minute[tonumber(row[1])])
  end
end

-- One part, as published: otherwise a query reads several, and a merge may run beside it.
local function check_parts(connection)
  local parts = tonumber((connection:query_row("SELECT COUNT(*) FROM system.parts WHERE active "
    .. "AND database = currentDatabase() AND table = 'numbers_in_types'")))
  if parts ~= 1 then
    error(("the table has %d active parts, not one: is a merge still running?"):format(parts), 0)
  end
  local sizes = connection:query("SELECT name, data_compressed_bytes, data_uncompressed_bytes "
    .. "FROM system.columns WHERE database = currentDatabase() AND table = 'numbers_in_types'")
  for _ = 1, sizes.nrows do
    local row = sizes:fetch_row()
    print(("column %s: %s bytes of %s"):format(row[1], row[2], row[3]))
  end
end

local connection, queries
local turn = 0

function thread_init()
  local column = sysbench.opt.column
  if not TYPES[column] then
    error(("--column=%s: expected UInt32, UInt64, Float32 or Float64"):format(column), 0)
  end
  connection = connect()
  check_parts(connection)
  verify(connection, "nq_" .. column)
  local sum = ("SUM(nq_%s)"):format(column)
  queries = {
    ("SELECT %s FROM numbers_in_types"):format(sum),
    ("SELECT period_start, %s AS s FROM numbers_in_types GROUP BY period_start ORDER BY s DESC")
      :format(sum),
  }
end

function event()
  turn = turn % #queries + 1
  sql.label("Q" .. turn)
  connection:query(queries[turn])
end
