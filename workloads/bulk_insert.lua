-- Rows in as few statements as they fit into: each client fills a table of its own.
--
-- Why it exists: how fast rows can be sent and stored. An event is a row, not a statement.
-- docs/workloads/oltp.md

local sql = require("parts.sql")
sql.on_duckdb, sql.on_clickhouse = true, true

function prepare()
  local connection, driver = sql.connect()
  local columns = "(id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
  if driver == "clickhouse" then
    columns = "(id Int32, k Int32)" .. sql.MERGE_TREE
  end
  for number = 1, sysbench.opt.threads do
    connection:query(("CREATE TABLE IF NOT EXISTS sbtest%d %s"):format(number, columns))
  end
end

function cleanup()
  local connection = sql.connect()
  for number = 1, sysbench.opt.threads do
    connection:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

local connection
local row = 0

function thread_init()
  connection = sql.connect()
  connection:bulk_insert_init(("INSERT INTO sbtest%d VALUES"):format(sysbench.tid + 1))
end

function event()
  row = row + 1
  connection:bulk_insert_next(("(%d,%d)"):format(row, row))
end

function thread_done()
  connection:bulk_insert_done()
  connection:disconnect()
end
