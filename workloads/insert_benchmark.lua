-- The insert benchmark's steps: load in key order, create indexes, insert with deletes, then
-- queries beside writers at a fixed rate.
--
-- Why it exists: secondary indexes, not rows, are most of the cost of inserts, and a query's time
-- depends on concurrent writes. How to read it: each step by itself, in order, on one growing data
-- set. docs/workloads/insert_benchmark.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local check = require("parts.check")

sysbench.cmdline.options = check.options(sql.options {
  step = { "Of a run: l.i0, l.i1 or l.i2 insert; qr or qp query", "l.i0" },
  tables = { "Number of tables; each client keeps one", 1 },
  rows_per_insert = { "Rows of a transaction that inserts; 0: as the step has it", 0 },
  delete = { "l.i1 and l.i2 delete as many of the oldest rows as they insert", true },
  customers = { "Different customers", 100000 },
  products = { "Different products", 10000 },
  registers = { "Different cash registers", 1000 },
  data_size = { "Characters of a row's data", 10 },
  query_rows = { "Rows that a query reads of its index", 10 },
})

if dbdyno then
  dbdyno.volume = function(opt)
    -- The steps l.i1 and l.i2 delete as much as they insert, and queries add nothing.
    if opt.step ~= "l.i0" then
      return { rows = 0, bytes = 0 }
    end
    local rows = opt.rows_per_insert > 0 and opt.rows_per_insert or 100
    return { rows = 0, bytes = 0, event_bytes = rows * (60 + opt.data_size), event_s = rows * 2e-6 }
  end
end

-- Rows per transaction, whether the step deletes, and whether it inserts.
local STEPS = {
  ["l.i0"] = { rows = 100, inserts = true },
  ["l.i1"] = { rows = 50, inserts = true, deletes = true },
  ["l.i2"] = { rows = 5, inserts = true, deletes = true },
  qr = { index = "register" },
  qp = { index = "pk" },
}

local INDEXES = {
  { "register", "price, register_id" },
  { "customer", "register_id, customer_id" },
  { "product", "price, made, customer_id" },
}

local function name_of(number)
  return "purchases" .. number
end

local function prepare_tables()
  local connection = sql.connect()
  for number in sql.share(sysbench.opt.tables) do
    sql.create_table(connection, name_of(number), "id BIGINT NOT NULL PRIMARY KEY, "
      .. "made BIGINT NOT NULL, register_id INTEGER NOT NULL, customer_id INTEGER NOT NULL, "
      .. "product_id INTEGER NOT NULL, price INTEGER NOT NULL, data VARCHAR(4000) NOT NULL")
  end
end

-- The step l.x.
local function create_indexes()
  local connection = sql.connect()
  for number in sql.share(sysbench.opt.tables) do
    for _, index in ipairs(INDEXES) do
      connection:query(("CREATE INDEX %s_%s ON %s (%s)"):format(
        name_of(number), index[1], name_of(number), index[2]))
    end
  end
end

function cleanup()
  local names = {}
  for number = 1, sysbench.opt.tables do
    names[number] = name_of(number)
  end
  sql.drop_tables(sql.connect(), names)
end

-- A row's content follows from its number, so that every row can be checked, whoever wrote it.
local function price_of(id)
  return id * 7919 % 50000
end

local function verify(connection)
  local conditions = {}
  for number = 1, sysbench.opt.tables do
    local name = name_of(number)
    conditions[#conditions + 1] = { name .. " has the prices that follow from the numbers",
      ("SELECT id, price FROM %s WHERE price <> id * 7919 %% 50000"):format(name) }
    conditions[#conditions + 1] = { name .. " has moments in the order of the numbers",
      ("SELECT id, made FROM %s WHERE made <> id"):format(name) }
    conditions[#conditions + 1] = { name .. " has data of the wanted length",
      ("SELECT id FROM %s WHERE LENGTH(data) <> %d"):format(name, sysbench.opt.data_size) }
  end
  check.conditions(connection, conditions)
end

done = check.after(verify)

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  index = { create_indexes, sysbench.cmdline.PARALLEL_COMMAND },
  check = { function() verify(sql.connect()) end },
}

local uniform = sysbench.rand.uniform
local connection, name, begin, commit, insert_rows, delete_rows, query
local next_id, stride, rows, oldest, drawn, pattern

-- One statement with placeholders for all rows of a transaction.
local function prepare_insert()
  local kinds = {}
  for place = 0, rows - 1 do
    kinds[place * 7 + 1], kinds[place * 7 + 2] = sql.BIGINT, sql.BIGINT
    for column = 3, 6 do
      kinds[place * 7 + column] = sql.INTEGER
    end
    kinds[place * 7 + 7] = sql.text(sysbench.opt.data_size)
  end
  local prepared = { sql.prepare(connection, ("INSERT INTO %s (id, made, register_id, "
    .. "customer_id, product_id, price, data) VALUES %s"):format(
    name, ("(?, ?, ?, ?, ?, ?, ?), "):rep(rows - 1) .. "(?, ?, ?, ?, ?, ?, ?)"), unpack(kinds)) }
  insert_rows, drawn = prepared[1], prepared
end

-- The parameters of the row `place`, counted from 0; the statement itself is the first of `drawn`.
local function set_row(place, id)
  local opt, first = sysbench.opt, place * 7 + 1
  drawn[first + 1]:set(id)
  drawn[first + 2]:set(id)
  drawn[first + 3]:set(uniform(1, opt.registers))
  drawn[first + 4]:set(uniform(1, opt.customers))
  drawn[first + 5]:set(uniform(1, opt.products))
  drawn[first + 6]:set(price_of(id))
  drawn[first + 7]:set_rand_str(pattern)
end

local function insert()
  begin()
  for place = 0, rows - 1 do
    set_row(place, next_id + place)
  end
  insert_rows:execute()
  if oldest then
    delete_rows(oldest, oldest + rows - 1)
  end
  commit()
  -- A restarted event has inserted nothing: its numbers are still unused.
  next_id = next_id + stride
  oldest = oldest and oldest + stride
end

local QUERIES = {
  register = "SELECT price, register_id FROM %s WHERE price >= ? ORDER BY price, register_id "
    .. "LIMIT %d",
  pk = "SELECT id, made, price FROM %s WHERE id >= ? ORDER BY id LIMIT %d",
}

local function prepare_query(index)
  local run = sql.statement(connection,
    QUERIES[index]:format(name, sysbench.opt.query_rows), sql.BIGINT)
  local low, high = connection:query_row(("SELECT MIN(id), MAX(id) FROM %s"):format(name))
  low, high = tonumber(low) or 1, tonumber(high) or 1
  if index == "register" then
    query = function() run(uniform(0, 49999)) end
  else
    query = function() run(uniform(low, high)) end
  end
end

-- Clients of a table take blocks of numbers in turn, after the existing ones.
local function find_place(step)
  local sharers = math.ceil(sysbench.opt.threads / sysbench.opt.tables)
  local turn = math.floor(sysbench.tid / sysbench.opt.tables)
  local low, high = connection:query_row(("SELECT MIN(id), MAX(id) FROM %s"):format(name))
  stride = rows * sharers
  next_id = (math.floor((tonumber(high) or 0) / stride) + 1) * stride + turn * rows
  if step.deletes and sysbench.opt.delete and low then
    oldest = math.floor(tonumber(low) / stride) * stride + turn * rows
  end
end

function thread_init()
  local opt = sysbench.opt
  local step = STEPS[opt.step]
    or error(("--step=%s: expected l.i0, l.i1, l.i2, qr or qp"):format(opt.step), 0)
  connection = sql.connect()
  name = name_of(sysbench.tid % opt.tables + 1)
  if not step.inserts then
    prepare_query(step.index)
    event = query
    return
  end
  rows = opt.rows_per_insert > 0 and opt.rows_per_insert or step.rows
  pattern = ("@"):rep(opt.data_size)
  begin = sql.statement(connection, sql.begin())
  commit = sql.statement(connection, "COMMIT")
  prepare_insert()
  delete_rows = sql.statement(connection,
    ("DELETE FROM %s WHERE id BETWEEN ? AND ?"):format(name), sql.BIGINT, sql.BIGINT)
  find_place(step)
end

event = insert
