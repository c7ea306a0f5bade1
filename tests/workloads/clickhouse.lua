-- ClickHouse's types, errors and loads, each command a look at one.

sysbench.cmdline.options = {
  rows = { "Rows to load", 3000 }, query = { "A statement", "" },
  first = { "The first of the statements that fail", 1 },
}

local connection

local function connect()
  connection = sysbench.sql.driver():connect()
end

local function failure(text)
  local done, problem = pcall(function() return connection:query(text) end)
  if done then
    return "none"
  end
  return type(problem) == "table" and ("%s %s"):format(problem.sql_errno, problem.sql_errmsg)
    or tostring(problem)
end

local function load()
  connect()
  connection:query("CREATE TABLE loaded (id UInt32, d Decimal(9, 2), t String, "
    .. "day Nullable(Date), w Float64 DEFAULT 2.5) ENGINE = MergeTree ORDER BY id")
  connection:bulk_insert_init("INSERT INTO loaded (id, d, t, day) VALUES")
  for id = 1, sysbench.opt.rows do
    connection:bulk_insert_next(("(%d, -%d.25, 'it''s %d', %s)"):format(
      id, id, id, id % 7 == 0 and "NULL" or "'2026-02-28'"))
  end
  connection:bulk_insert_done()
end

local function fail()
  connect()
  connection:query("CREATE TABLE failed (id UInt8) ENGINE = Memory")
  local statements = {
    "SELEC 1", "SELECT * FROM absent", "INSERT INTO absent VALUES (1)",
    "INSERT INTO failed VALUES (300)", "INSERT INTO failed VALUES (1 + 1)",
    "INSERT INTO failed VALUES (7)", "INSERT INTO failed SELECT 8", "SELECT toUInt8('a')",
  }
  for number = sysbench.opt.first, #statements do
    print(failure(statements[number]))
  end
  local found = connection:query("SELECT id FROM failed ORDER BY id")
  for _ = 1, found.nrows do
    print("stored " .. found:fetch_row()[1])
  end
end

local function ask()
  connect()
  local found = connection:query(sysbench.opt.query)
  for _ = 1, found.nrows do
    local row = found:fetch_row()
    for column = 1, found.nfields do
      row[column] = row[column] or "NULL"
    end
    print(table.concat(row, "\t"))
  end
end

-- Each row of a large result.
local function large()
  connect()
  local found = connection:query("SELECT number, toString(number) FROM system.numbers LIMIT 200000")
  local sum = 0
  for number = 0, found.nrows - 1 do
    local row = found:fetch_row()
    assert(row[1] == tostring(number) and row[2] == row[1])
    sum = sum + tonumber(row[1])
  end
  print(found.nrows .. "\t" .. ("%d"):format(sum))
end

function prepare()
  load()
end

function cleanup()
  connect()
  connection:query("DROP TABLE IF EXISTS loaded")
  connection:query("DROP TABLE IF EXISTS failed")
end

sysbench.cmdline.commands = { fail = { fail }, ask = { ask }, large = { large } }

function thread_init()
  connect()
  statement = connection:prepare("SELECT number FROM system.numbers WHERE number = ? LIMIT 1")
  parameter = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(parameter)
end

function event()
  parameter:set(7)
  statement:execute()
end
