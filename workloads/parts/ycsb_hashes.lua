-- YCSB's records as hashes of Valkey and Redis, with the commands of its client for them. Scans use
-- a sorted set of all keys by their hash.

local hashes = {}

local INDEX, AT_ONCE = "_indices", 256

-- Java's hash of a string, by which YCSB's client orders keys.
local function order_of(key)
  local order = 0
  for place = 1, #key do
    order = bit.tobit(31 * order + key:byte(place))
  end
  return order
end

local function arguments(found, values, field)
  local pairs_of = {}
  for place, value in ipairs(values) do
    pairs_of[#pairs_of + 1] = found.fieldnameprefix .. (field or place) - 1
    pairs_of[#pairs_of + 1] = value
  end
  return unpack(pairs_of)
end

local function store(con, found, key, values)
  con:run("HSET", key, arguments(found, values))
  con:run("ZADD", INDEX, order_of(key), key)
end

-- `key_of(number)`, `value()`: of a record.
function hashes.prepare(found, key_of, value)
  local con = dbdyno.keys.connect()
  local step = sysbench.opt.threads
  dbdyno.pipeline(con, AT_ONCE, function()
    for number = found.insertstart + sysbench.tid % step,
        found.insertstart + found.insertcount - 1, step do
      local values = {}
      for place = 1, found.fieldcount do
        values[place] = value()
      end
      store(con, found, key_of(number), values)
    end
  end)
end

-- All that the index names, which includes records that a load has inserted.
function hashes.cleanup()
  local con = dbdyno.keys.connect()
  repeat
    local names = con:command("ZRANGE", INDEX, 0, AT_ONCE - 1)
    if #names > 0 then
      con:run("UNLINK", unpack(names))
      con:run("ZREM", INDEX, unpack(names))
    end
  until #names == 0
end

-- As in `ycsb_rows.lua`.
function hashes.connect(found)
  local con = dbdyno.keys.connect()
  local operations = {}

  function operations.read(which, field)
    if field then
      return con:command("HGET", which, found.fieldnameprefix .. field - 1) and 1 or 0
    end
    return next(con:command("HGETALL", which)) and 1 or 0
  end

  function operations.scan(from, count, field)
    local names = con:command("ZRANGEBYSCORE", INDEX, order_of(from), "+inf", "LIMIT", 0, count)
    for _, name in ipairs(names) do
      operations.read(name, field)
    end
    return #names
  end

  function operations.update(which, field, values)
    con:run("HSET", which, arguments(found, values, field))
  end

  function operations.insert(which, values)
    store(con, found, which, values)
  end

  return operations
end

return hashes
