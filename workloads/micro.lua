-- Micro-benchmarks: one kind of statement at a time, chosen by `--test`.
--
-- Why it exists: a mixed load shows that something changed, these show what. Every test has a
-- digest of its results that is equal on every database, so that none is fast by being wrong. How
-- to read it: each test against itself on another version or setting, never against another test.
-- docs/workloads/micro.md
--
-- Runs on MySQL, MariaDB, PostgreSQL, SQLite and DuckDB; on ClickHouse what reads and inserts.

local sql = require("parts.sql")
local tests = require("parts.micro_tests")
sql.on_duckdb, sql.on_clickhouse = true, true

sysbench.cmdline.options = sql.options {
  test = { "Which one; `list` in its place names all", "points" },
  tables = { "Number of tables", 1 },
  table_size = { "Rows in each table", 10000 },
  range_size = { "Rows of a range", 100 },
  points = { "Keys of a `points_in` statement", 10 },
  probes = { "Statements of each reading test that the command `digest` looks at", 20 },
}

if dbdyno then
  dbdyno.volume = function(opt)
    local rows = opt.tables * opt.table_size
    return { rows = rows, bytes = rows * 260 }
  end
end

-- Digits in groups, as long as a line of text: no two rows alike, and hard to compress.
local C, PAD = ("###########-"):rep(9) .. "###########", ("###########-"):rep(4) .. "###########"

local function prepare_table(connection, name)
  local size = sysbench.opt.table_size
  local columns = "id INTEGER NOT NULL PRIMARY KEY, k INTEGER NOT NULL, "
    .. "c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL"
  if sql.name() == "clickhouse" then
    columns = "id Int32, k Int32, c String, pad String"
  end
  sql.create_table(connection, name, columns)
  sql.begin_rows(connection, name .. " (id, k, c, pad)")
  for id = 1, size do
    connection:bulk_insert_next(("(%d, %d, '%s', '%s')"):format(
      id, sysbench.rand.uniform(1, size), sysbench.rand.string(C), sysbench.rand.string(PAD)))
  end
  connection:bulk_insert_done()
  if sql.name() ~= "clickhouse" then
    connection:query(("CREATE INDEX %s_k ON %s (k)"):format(name, name))
  end
end

local function prepare_tables()
  local connection = sql.connect()
  tests.check(sysbench.opt.test)
  for number in sql.share(sysbench.opt.tables) do
    prepare_table(connection, tests.table_name(number))
  end
end

function cleanup()
  local names = {}
  for number = 1, sysbench.opt.tables do
    names[number] = tests.table_name(number)
  end
  sql.drop_tables(sql.connect(), names)
end

local function show_list()
  for _, name in ipairs(tests.NAMES) do
    print(("%-22s %s"):format(name, tests.DESCRIPTIONS[name]))
  end
end

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  list = { show_list },
  digest = { function() tests.digest(sql.connect()) end },
}

function thread_init()
  event = tests.connect(sql.connect(), sysbench.opt.test)
end

-- Replaced when the test is known.
function event() end
