-- One small write transaction after another: each event gives one random row a new value and
-- commits.
--
-- Why it exists: on a database that syncs its log, the time of this event is little more than the
-- time of a commit, which every durability setting changes. How to read it: events per second are
-- commits per second; the response time is what an application waits for.
--
-- Runs on every driver.

sysbench.cmdline.options = {
  tables = {"Number of tables", 1},
  table_size = {"Rows in each table", 10000},
  value_size = {"Bytes of a value", 100},
}

if dbdyno then
  dbdyno.volume = function(opt)
    local rows = opt.tables * opt.table_size
    return { rows = rows, bytes = rows * (opt.value_size + 50), statements = opt.tables }
  end
end

local function name_of(number)
  return "kv" .. number
end

-- Worker t prepares the tables t+1, t+1+threads, ….
local function each_table(act)
  for number = sysbench.tid + 1, sysbench.opt.tables, sysbench.opt.threads do
    act(name_of(number))
  end
end

local function create(connection, name)
  local columns = " (id INTEGER NOT NULL PRIMARY KEY, value VARCHAR(2000))"
  connection:query("CREATE TABLE " .. name .. columns)
  local pattern = ("@"):rep(sysbench.opt.value_size)
  connection:bulk_insert_init("INSERT INTO " .. name .. " (id, value) VALUES")
  for id = 1, sysbench.opt.table_size do
    connection:bulk_insert_next(("(%d, '%s')"):format(id, sysbench.rand.string(pattern)))
  end
  connection:bulk_insert_done()
end

local function prepare_tables()
  local connection = sysbench.sql.driver():connect()
  each_table(function(name) create(connection, name) end)
end

local function drop_tables()
  local connection = sysbench.sql.driver():connect()
  each_table(function(name) connection:query("DROP TABLE IF EXISTS " .. name) end)
end

sysbench.cmdline.commands = {
  prepare = {prepare_tables, sysbench.cmdline.PARALLEL_COMMAND},
  cleanup = {drop_tables, sysbench.cmdline.PARALLEL_COMMAND},
}

local updates = {}
local pattern

function thread_init()
  local connection = sysbench.sql.driver():connect()
  local types = sysbench.sql.type
  pattern = ("@"):rep(sysbench.opt.value_size)
  for number = 1, sysbench.opt.tables do
    local text = "UPDATE " .. name_of(number) .. " SET value = ? WHERE id = ?"
    local statement = connection:prepare(text)
    local value = statement:bind_create(types.VARCHAR, sysbench.opt.value_size)
    local id = statement:bind_create(types.INT)
    statement:bind_param(value, id)
    updates[number] = {statement = statement, value = value, id = id}
  end
end

function event()
  local update = updates[sysbench.rand.uniform(1, sysbench.opt.tables)]
  update.value:set_rand_str(pattern)
  update.id:set(sysbench.rand.default(1, sysbench.opt.table_size))
  update.statement:execute()
end
