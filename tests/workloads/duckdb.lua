-- DuckDB's types, errors, transactions and loads, each command a look at one.

sysbench.cmdline.options = { rows = { "Rows to load", 3000 }, query = { "A statement", "" } }

local connection

local function connect()
  connection = sysbench.sql.driver():connect()
end

-- Whether what a statement does fails, and how.
local function failure(text)
  local done, problem = pcall(function() return connection:query(text) end)
  if done then
    return "none"
  end
  return type(problem) == "table" and problem.sql_errmsg or tostring(problem)
end

local function load()
  connect()
  connection:query("CREATE TABLE loaded (id INTEGER PRIMARY KEY, d DECIMAL(9,2), t VARCHAR, "
    .. "day DATE, w DOUBLE DEFAULT 2.5)")
  connection:bulk_insert_init("INSERT INTO loaded (id, d, t, day) VALUES")
  for id = 1, sysbench.opt.rows do
    connection:bulk_insert_next(("(%d, -%d.25, 'it''s %d', %s)"):format(
      id, id, id, id % 7 == 0 and "NULL" or "'2026-02-28'"))
  end
  connection:bulk_insert_done()
end

-- The rows of the second batch are there already.
local function load_twice()
  connect()
  connection:query("CREATE TABLE twice (id INTEGER PRIMARY KEY)")
  connection:bulk_insert_init("INSERT INTO twice VALUES")
  connection:bulk_insert_next("(1)")
  connection:bulk_insert_next("(1)")
  connection:bulk_insert_done()
end

local function fail()
  connect()
  connection:query("CREATE TABLE failed (id INTEGER PRIMARY KEY)")
  connection:query("INSERT INTO failed VALUES (1)")
  for _, text in ipairs {
    "SELEC 1", "SELECT * FROM absent", "SELECT absent FROM failed",
    "INSERT INTO failed VALUES (1)", "SELECT 'a'::INTEGER", "SELECT 1; SELECT 'a'::INTEGER",
    "COMMIT",
  } do
    print(failure(text))
  end
  connection:query("BEGIN")
  print(failure("SELECT * FROM absent"))
  print(failure("SELECT 1"))
  print(failure("INSERT INTO failed VALUES (1)"))
  print(failure("SELECT 1"))
  connection:query("ROLLBACK")
  print(failure("SELECT 1"))
end

local function several()
  connect()
  local found = connection:query("SELECT 1 AS a; SELECT 2, 'b' UNION ALL SELECT 3, NULL ORDER BY 1")
  repeat
    for _ = 1, found.nrows do
      local row = found:fetch_row()
      print(found.nfields, tostring(row[1]), tostring(row[2]))
    end
    found = connection:next_result()
  until not found
end

-- Each row of a large result, whose parts DuckDB returns one after the other.
local function large()
  connect()
  local found = connection:query("SELECT i, 'text of more than twelve bytes ' || i FROM "
    .. "range(10000) t(i) ORDER BY i")
  local sum = 0
  for number = 0, found.nrows - 1 do
    local row = found:fetch_row()
    assert(row[1] == tostring(number) and row[2] == "text of more than twelve bytes " .. number)
    sum = sum + tonumber(row[1])
  end
  print(found.nrows, sum)
end

local function bound()
  connect()
  local statement = connection:prepare("SELECT ?::BIGINT + 1, ?::DOUBLE / 4, ?::VARCHAR, ? IS NULL")
  local whole = statement:bind_create(sysbench.sql.type.BIGINT)
  local part = statement:bind_create(sysbench.sql.type.DOUBLE)
  local text = statement:bind_create(sysbench.sql.type.VARCHAR, 40)
  local null = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(whole, part, text, null)
  for number = 1, 2 do
    whole:set(number * 2 ^ 40)
    part:set(number)
    text:set("a?'" .. number)
    null:set(nil)
    print(table.concat(statement:execute():fetch_row(), ","))
  end
  statement:close()
end

local function show()
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

sysbench.cmdline.commands = {
  load = { load }, load_twice = { load_twice }, fail = { fail }, several = { several },
  large = { large }, bound = { bound }, show = { show },
}

function thread_init()
  connect()
end

-- A statement that only an interrupt ends.
function event()
  connection:query("SELECT count(*) FROM range(100000000) a, range(100000000) b "
    .. "WHERE hash(a.range, b.range) = 1")
end
