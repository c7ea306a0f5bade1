-- The workload API that scripts see, built once per shard on the host's functions.
--
-- The host's functions either return at once or suspend the calling client and return when it is
-- resumed; this file need not know which. Names and meanings are sysbench's; the code is ours.

local host, settings, foreign, report, legacy, options, module, own, sql,
  coroutines, native, names, streams, integers, errors, keys_of, documents_of,
  document_values, slots_of, cluster_of = ...

local getfenv, setfenv, setmetatable, rawget = getfenv, setfenv, setmetatable, rawget
local error, type, tostring, tonumber, xpcall = error, type, tostring, tonumber, xpcall
local traceback = debug.traceback

local RESTART_EVENT = 1
local PARALLEL_COMMAND = true
local KNOWN_DRIVERS = {
  mysql = true, pgsql = true, postgresql = true, sqlite = true, duckdb = true, clickhouse = true,
  null = true,
}

local inherit, seen = names()
local integer_in, whole_in = integers(require("ffi"))
local random, next_event, create_parameter, bulk_append, join =
  native(host, settings, require("ffi"), whole_in)
host.random = random
local the_driver, connection_meta, raise, end_bulk =
  sql(host, settings, create_parameter, bulk_append, RESTART_EVENT)
local slots = slots_of(host)
local keys, keys_meta, raise_keys, pipelines =
  keys_of(host, join, integer_in, RESTART_EVENT, slots, cluster_of)
local documents = documents_of(host, document_values, RESTART_EVENT, slots)

-- The function that raises a pipeline's error, by the metatable of its connection.
local raise_on = {
  [connection_meta] = function(made) return raise(made[1]) end, [keys_meta] = raise_keys,
}

-- LuaJIT's `-j`: a built-in command, or an installed `jit.*` module.
local function compiler(order)
  local name, given = order:match("^([^=]+)=?(.*)$")
  local arguments = {}
  for argument in given:gmatch("[^,]+") do
    arguments[#arguments + 1] = argument
  end
  if name == "flush" and tonumber(given) then
    return jit.flush(tonumber(given))
  elseif name == "on" or name == "off" or name == "flush" then
    return jit[name]()
  end
  local fine, found = pcall(require, "jit." .. name)
  if not fine or type(found) ~= "table" or not found.start then
    error(("--luajit-cmd=%s: on, off and flush are built in; any other is a module "
      .. "(jit.%s) that must be installed and on LUA_PATH"):format(order, name), 0)
  end
  found.start(unpack(arguments))
end

local function with_traceback(message)
  if type(message) == "table" then
    return message
  end
  return { message = tostring(message), traceback = traceback("", 2) }
end

-- For uncaught errors: an error value without text gets one, with the script's line.
local function in_words(value)
  local kind = type(value)
  if kind == "string" or kind == "number" then
    return with_traceback(value)
  elseif kind == "table" and (value.message or value.sql_errmsg or value.errcode) then
    return value
  end
  local place = settings.drop_in and "" or host.place()
  return { message = place .. settings.not_text, traceback = traceback("", 2) }
end

-- The table `sysbench`.

local ARGUMENT = {
  ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
  ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8, PARALLEL_COMMAND = PARALLEL_COMMAND,
}

local shared = {
  version = settings.version,
  version_string = settings.version_string,
  rand = host.random,
  error = { NONE = 0, RESTART_EVENT = RESTART_EVENT },
  sql = {
    driver = function(name)
      local known = host.driver_name()
      local unknown = settings.unknown_driver
      if name ~= nil and settings.drop_in then
        unknown = not KNOWN_DRIVERS[name] and tostring(name) or nil
      end
      if unknown then
        host.print(("FATAL: invalid database driver name: '%s'"):format(unknown))
        error("failed to initialize the DB driver", 2)
      end
      if name ~= nil and name ~= known and not (name == "postgresql" and known == "pgsql") then
        local message = "failed to initialize the DB driver: the run's target is %s, not %s"
        error(message:format(known, tostring(name)), 2)
      end
      if not host.answers_sql() then
        local message = "the run's target is %s, which has no SQL: workloads for it use "
          .. "dbdyno.keys or dbdyno.documents"
        error(message:format(known), 2)
      end
      return the_driver
    end,
    type = {
      NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
      DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
    },
    error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
  },
}
local shared_meta = inherit(shared)

-- The host reads and prints options itself; these stubs keep scripts that call them working.
function ARGUMENT.read_cmdline_options() return true end

-- A command that the script defines: its function, and whether all clients run it.
local function command_of(name)
  local commands = getfenv(0).sysbench.cmdline.commands
  local command = type(commands) == "table" and commands[name]
  if type(command) == "table" and command[1] then
    return command[1], command[2] == PARALLEL_COMMAND
  end
end

function ARGUMENT.command_defined(name)
  return command_of(name) ~= nil
end

function ARGUMENT.command_parallel(name)
  local call, parallel = command_of(name)
  return call ~= nil and parallel
end

local cmdline_meta = inherit(ARGUMENT)
local resolve_options, check_values, describe_script =
  options(host, settings, ARGUMENT, integer_in)

-- Environments.

-- Copies everything from `from` that `own` does not define.
local function complete(own, from)
  for name, value in pairs(from) do
    own[name] = own[name] == nil and value or own[name]
  end
  return own
end

if settings.compiler then
  compiler(settings.compiler)
end
local reports, histogram, close_reports = report(host, settings)
for name, hook in pairs(reports) do
  shared[name] = hook
end
shared.histogram = { new = histogram.new }
local legacy_globals, export = legacy(host, shared)
local say, own_io, own_os = streams(host)
local protected_call, own_debug = errors(host)
local standard = {
  bit = bit, jit = jit, string = string, table = table, math = math,
  debug = complete(own_debug, debug),
  io = complete(own_io, io), os = complete(own_os, os),
  ffi = complete(foreign(host, require("ffi")), require("ffi")),
  coroutine = complete(coroutines(host), coroutine),
}
local package_of, require_module, module_of = module(host, standard, inherit)

-- As Lua's `dofile`, but the file's code may suspend the client.
local function do_file(name)
  local chunk, message = loadfile(name)
  if not chunk then
    error(message, 0)
  end
  return setfenv(chunk, getfenv(0))()
end

local library = {
  dofile = do_file, print = say, require = require_module, module = module_of,
  xpcall = protected_call, debug = standard.debug,
  next = seen.next, pairs = seen.pairs,
  getmetatable = seen.getmetatable, setmetatable = seen.setmetatable,
  dbdyno = own(host, { keys = keys, documents = documents }, raise_on, pipelines),
  ffi = standard.ffi, io = standard.io, os = standard.os, coroutine = standard.coroutine,
}

-- Names from sysbench 0.5, for scripts that still use them.
shared.db = {}
for name, value in pairs(legacy_globals) do
  library[name] = value
  shared.db[name:gsub("^db_", "")] = value
end

-- All names that scripts start with. Globals that a C module defines later are found through `_G`.
local globals_meta = inherit(setmetatable(complete(library, _G), inherit(_G)))

-- One client's globals. They hold few names; the rest is found in tables that all clients share,
-- which saves memory and cache misses.
local function environment(tid, module_path)
  local env = setmetatable({}, globals_meta)
  env._G = env
  env.thread_id = tid
  env.test = settings.script_path
  env.package = package_of(env, module_path)
  env.sysbench = setmetatable({
    tid = tid, hooks = {},
    cmdline = setmetatable({
      command = settings.command, script_path = settings.script_path, argv = settings.argv,
    }, cmdline_meta),
  }, shared_meta)
  return env
end

-- A client's life cycle.

-- A transaction is rolled back where its event restarts, not where a statement fails: a script that
-- catches the error goes on in it.
local function roll_back_event()
  for _, slot in ipairs(host.failed_on()) do
    if host.roll_back(slot) == false then
      local action, _, _, message = host.failure("ROLLBACK", true)
      if action == "stop" then
        error(message, 0)
      end
    end
  end
end

-- The default loop. A restarted event is still the same event: its time keeps running.
local function default_run(tid)
  local env = getfenv(0)
  local event = env.event
  local churn = host.reconnects()
  while next_event() do
    ::again::
    local fine, value = xpcall(event, in_words, tid)
    if not fine then
      if type(value) == "table" and value.errcode == RESTART_EVENT then
        roll_back_event()
        if not host.restart() then
          host.abandon_event()
          return
        end
        local hook = env.sysbench.hooks.before_restart_event
        if hook then
          hook(value)
        end
        goto again
      end
      error(value, 0)
    elseif value then
      host.abandon_event()
      return
    end
    if churn then
      for _, slot in ipairs(host.reconnect_due()) do
        host.reconnect(slot)
      end
    end
  end
end

-- Scripts see the default loop as a global, and may replace it.
library.thread_run = default_run

local options_of, options_meta, options_legacy = {}, {}, {}

-- Runs the script's body: it defines functions in the client's globals.
local function body(make)
  local env = getfenv(0)
  local options = options_of[make]
  -- A script for sysbench 0.5 defines no options and finds all of them as globals.
  if options and options_legacy[make] then
    export(env, options)
    env.test = settings.script_path
  end
  setfenv(make(), env)()
  env.sysbench.opt = options and setmetatable({}, options_meta[make])
  return env
end

local function client(make, tid)
  if not settings.command then
    host.ready()
    body(make)
    return
  end
  local env = body(make)
  if settings.command == "run" then
    if env.thread_init then
      env.thread_init(tid)
    end
    host.ready()
    env.thread_run(tid)
    if env.thread_done then
      local fine, value = xpcall(env.thread_done, in_words, tid)
      if not fine then
        host.done_failed(value)
      end
    end
    return
  end
  host.ready()
  local outcome = (command_of(settings.command) or env[settings.command])()
  local slot = host.bulk_open()
  while slot do
    end_bulk(slot)
    slot = host.bulk_open()
  end
  if outcome == false then
    error(("the command `%s` returned false"):format(settings.command), 0)
  end
end

local VOLUME = { "rows", "bytes", "event_bytes", "event_s", "statements" }

-- What the script says of its data (`dbdyno.volume`): true and numbers in the order of `VOLUME`, or
-- nothing.
local function volume(options)
  local call = library.dbdyno.volume
  if call == nil or not options then
    return
  end
  local said = type(call) == "function" and call(options)
  if type(said) ~= "table" then
    error("dbdyno.volume is a function that returns a table of: " .. table.concat(VOLUME, ", "), 0)
  end
  local numbers, left = {}, complete({}, said)
  for place, name in ipairs(VOLUME) do
    local value = tonumber(said[name])
    if said[name] ~= nil and not (value and value >= 0 and value < 2 ^ 63) then
      error(("dbdyno.volume() says `%s` is %s; expected a number from 0"):format(
        name, tostring(said[name])), 0)
    end
    numbers[place], left[name] = value, nil
  end
  if next(left) ~= nil then
    error(("dbdyno.volume() says `%s`; expected some of: %s"):format(
      tostring(next(left)), table.concat(VOLUME, ", ")), 0)
  end
  return true, unpack(numbers, 1, #VOLUME)
end

-- Runs the script's body once per shard to inspect it. Returns nil and an error as
-- `resolve_options` does, or whether all clients run the command in parallel; if `asked`, then what
-- it says of its data.
local function inspect(make, given, asked)
  if not settings.command then
    return false
  end
  local env = getfenv(0)
  library.dbdyno.volume = nil  -- The last script's.
  setfenv(make(), env)()
  local cmdline = env.sysbench.cmdline
  local options, what, name, found, expected = resolve_options(cmdline.options, given)
  if not options then
    return nil, what, name, found, expected
  end
  options_of[make], options_legacy[make] = options, cmdline.options == nil
  options_meta[make] = inherit(options)
  env.sysbench.opt = setmetatable({}, options_meta[make])
  local problem = check_values(cmdline.options, options)
  if problem then
    return nil, "script", tostring(problem)
  end
  for _, name in ipairs { "init", "thread_init", "event", "thread_done", "done" } do
    local kind = type(env[name])
    if kind ~= "nil" and kind ~= "function" then
      return nil, "script", ("`%s` is a %s; expected a function"):format(name, kind)
    end
  end
  local command = settings.command
  if command == "run" then
    if not env.event and env.thread_run == default_run then
      return nil, "script", "cannot find the event() function"
    end
    return true, volume(asked and options)
  end
  local defined, parallel = command_of(command)
  if not defined and type(env[command]) ~= "function" then
    local names = {}
    for other in pairs(cmdline.commands or {}) do names[other] = command_of(other) and true end
    for _, other in ipairs { "prepare", "cleanup", "help" } do
      if type(env[other]) == "function" then names[other] = true end
    end
    return nil, "command", command, names
  end
  return defined ~= nil and parallel, volume(asked and options)
end

-- Hooks that run before and after all clients, in the first shard.
local function hook(name, stat)
  local env = getfenv(0)
  local call = rawget(env, name)
  if stat then
    call = env.sysbench.hooks[name]
  end
  if call then
    call(stat)
  end
  if name == "done" or name == "" then
    close_reports()
  end
end

-- Describes what the script defines. Its report hooks see the options too; the load reports invalid
-- ones.
local function describe(make, given)
  local env = body(make)
  env.sysbench.opt = resolve_options(env.sysbench.cmdline.options, given)
  return describe_script(env)
end

return environment, client, inspect, body, hook, describe
