-- The workload API of sysbench 0.5 on top of the current one: globals, and one connection per
-- client, opened on first use.

local host, shared = ...

local getfenv, rawget, rawset, setmetatable = getfenv, rawget, rawset, setmetatable

local legacy = {
  DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2,
  mysql_table_engine = "innodb", myisam_max_rows = 1000000,
  sb_rand = shared.rand.default, sb_rand_str = shared.rand.string,
  sb_rand_uniform = shared.rand.uniform, sb_rand_gaussian = shared.rand.gaussian,
  sb_rand_special = shared.rand.special,
}

function legacy.sb_rnd()
  return shared.rand.uniform(0, 1073741823)
end

-- A number within a range that no client gets twice.
function legacy.sb_rand_uniq(low, high)
  return low + shared.rand.unique() % (high - low + 1)
end

-- Each client's connection, by its globals.
local connections = setmetatable({}, { __mode = "k" })

local function connection()
  local env = getfenv(0)
  if not connections[env] then
    env.db_connect()
  end
  return connections[env]
end

function legacy.db_connect()
  local env = getfenv(0)
  local driver = shared.sql.driver()
  rawset(env, "db_driver", driver:name())
  connections[env] = driver:connect()
end

function legacy.db_disconnect()
  local env = getfenv(0)
  if connections[env] then
    connections[env]:disconnect()
    connections[env] = nil
  end
end

-- No rows are returned: such scripts take any value for an error.
function legacy.db_query(text) connection():query(text) end
function legacy.db_bulk_insert_init(text) connection():bulk_insert_init(text) end
function legacy.db_bulk_insert_next(text) connection():bulk_insert_next(text) end
function legacy.db_bulk_insert_done() connection():bulk_insert_done() end

local bound = setmetatable({}, { __mode = "k" })

function legacy.db_prepare(text) return connection():prepare(text) end

-- Parameters are elements of a table, read when the statement is executed.
function legacy.db_bind_param(statement, values)
  local parameters = {}
  for index, value in ipairs(values) do
    local kinds = shared.sql.type
    parameters[index] = type(value) == "string"
      and statement:bind_create(kinds.VARCHAR, 65535) or statement:bind_create(kinds.BIGINT)
  end
  statement:bind_param(unpack(parameters))
  bound[statement] = { parameters = parameters, values = values }
end

function legacy.db_bind_result() end
function legacy.db_store_results() end

function legacy.db_execute(statement)
  local given = bound[statement]
  if given then
    for index, parameter in ipairs(given.parameters) do
      parameter:set(given.values[index])
    end
  end
  return statement:execute()
end

function legacy.db_free_results(result)
  if result then
    result:free()
  end
end

function legacy.db_close(statement)
  statement:close()
end

-- Makes options globals; functions of the same name stay.
local function export(env, options)
  for name, value in pairs(options) do
    if type(env[name]) == "function" then
      host.print(("WARNING: global option '%s' hides behind a function of that name"):format(name))
    else
      rawset(env, name, value)
    end
  end
end

return legacy, export
