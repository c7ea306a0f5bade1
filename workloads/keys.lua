-- Reads and writes of single keys: each event gets a random key, or sets it to a new value.
--
-- Why it exists: it is what caches and sessions ask of Valkey and Redis, and what their own
-- benchmarks measure. How to read it: by `clients` and `pipeline`; the response time is what a
-- caller of one key waits for. docs/workloads/keys.md
--
-- Runs on Valkey and Redis.

sysbench.cmdline.options = {
  keys = { "Number of keys", 100000 },
  value_size = { "Bytes of a value", 100 },
  reads = { "Percentage of reads, 0 to 100; the rest are writes", 90 },
  pipeline = { "Commands of an event that are sent together, 1 to 1024", 1 },
  expire = { "Seconds that a written key lives; 0: for ever", 0 },
  misses = { "Let reads find no key; otherwise that is an error", false },
}

if dbdyno then
  dbdyno.volume = function(opt)
    -- In memory: a key with its value has some 60 bytes besides.
    return { rows = opt.keys, bytes = opt.keys * (opt.value_size + 60) }
  end
end

-- Commands of `prepare` and `cleanup` that a client has in flight at once.
local LOADED = 256

-- Keys have the names that valkey-benchmark and redis-benchmark give them.
local function name_of(number)
  return ("key:%012d"):format(number - 1)
end

local function pattern()
  return ("@"):rep(sysbench.opt.value_size)
end

local function check_options()
  local opt = sysbench.opt
  if opt.keys < 1 or opt.value_size < 1 then
    error("`keys` and `value_size` are 1 or more", 0)
  elseif opt.reads < 0 or opt.reads > 100 then
    error("`reads` is a percentage, 0 to 100", 0)
  elseif opt.pipeline < 1 or opt.pipeline > 1024 then
    error("`pipeline` is 1 to 1024", 0)
  elseif opt.expire < 0 then
    error("`expire` is 0 or more", 0)
  end
end

-- Client t has the keys t+1, t+1+threads, …: together all of them, each once. The value of a key
-- depends on the seed and the client that writes it.
local function each_key(act)
  check_options()
  local con = dbdyno.keys.connect()
  dbdyno.pipeline(con, LOADED, function()
    for number = sysbench.tid + 1, sysbench.opt.keys, sysbench.opt.threads do
      act(con, number)
    end
  end)
end

local function load_keys()
  local of_size = pattern()
  each_key(function(con, number)
    con:run("SET", name_of(number), sysbench.rand.string(of_size))
  end)
end

local function drop_keys()
  each_key(function(con, number) con:run("UNLINK", name_of(number)) end)
end

sysbench.cmdline.commands = {
  prepare = { load_keys, sysbench.cmdline.PARALLEL_COMMAND },
  cleanup = { drop_keys, sysbench.cmdline.PARALLEL_COMMAND },
}

-- In a pipeline the client doesn't wait for each command, and keys need not become strings of
-- Lua's, which are looked up among all others and collected again.
local key_text = require("string.buffer").new(16)

local function text_of(number)
  return key_text:reset():putf("key:%012d", number - 1)
end

-- Looked up once, since every command needs them.
local con, of_size, keys, reads, pipeline, expire, must_find
local pipelined, draw, uniform, string_of, key_of

function thread_init()
  check_options()
  local opt, rand = sysbench.opt, sysbench.rand
  con, of_size = dbdyno.keys.connect(), pattern()
  keys, reads, pipeline, expire = opt.keys, opt.reads, opt.pipeline, opt.expire
  must_find = pipeline == 1 and not opt.misses and opt.db_driver == "redis"
  key_of = pipeline == 1 and name_of or text_of
  pipelined, draw, uniform, string_of = dbdyno.pipeline, rand.default, rand.uniform, rand.string
end

local function read(key)
  local answered = con:run("GET", key)
  if must_find and not answered then
    error(("`%s` is not there; run `prepare` with the same `keys`"):format(key), 0)
  end
end

local function write(key)
  local value = string_of(of_size)
  if expire > 0 then
    con:run("SET", key, value, "EX", expire)
  else
    con:run("SET", key, value)
  end
end

local function step()
  local key = key_of(draw(1, keys))
  if reads == 100 or uniform(1, 100) <= reads then
    read(key)
  else
    write(key)
  end
end

local function steps()
  for _ = 1, pipeline do
    step()
  end
end

function event()
  if pipeline == 1 then
    step()
  else
    pipelined(con, pipeline, steps)
  end
end
