-- YCSB's core workload: records of text fields, read, updated, inserted and scanned by key.
--
-- Why it exists: its six workloads are how key-value stores and document databases are compared,
-- and people have workload files of their own. How to read it: throughput of all operations, and
-- response times by label, which are YCSB's operations. docs/workloads/ycsb.md
--
-- Runs on MySQL, MariaDB, PostgreSQL, SQLite, Valkey, Redis and MongoDB.

local draw = require("parts.ycsb_draw")
local file = require("parts.ycsb_file")
local sql = require("parts.sql")

sysbench.cmdline.options = sql.options(file.options {
  file = { "YCSB's workload files, separated by commas: the later overrules the earlier", "" },
})

if dbdyno then
  dbdyno.volume = function()
    local properties = file.properties()
    local rows = properties.recordcount
    local record_bytes = 60 + properties.fieldcount * (properties.fieldlength + 4)
    return { rows = rows, bytes = rows * record_bytes }
  end
end

local found, operations, value, record, scan_length, label
local inserted, last = 0, 0
local mix, kinds = {}, {}

local function family()
  local other = { redis = "parts.ycsb_hashes", mongodb = "parts.ycsb_documents" }
  return require(other[sysbench.opt.db_driver] or "parts.ycsb_rows")
end

-- A function that makes the text of a field.
local function values_of(properties)
  local length = draw.between(properties.fieldlengthdistribution, properties.minfieldlength,
    properties.fieldlength)
  local patterns, string_of = {}, sysbench.rand.string
  return function()
    local size = length()
    patterns[size] = patterns[size] or ("@"):rep(size)
    return string_of(patterns[size])
  end
end

local function key_of(number)
  return draw.key(number, found)
end

local function load_records()
  found = file.properties()
  family().prepare(found, key_of, values_of(found))
end

local function drop_records()
  family().cleanup(file.properties())
end

sysbench.cmdline.commands = {
  prepare = { load_records, sysbench.cmdline.PARALLEL_COMMAND },
  cleanup = { drop_records },
}

-- The record of the client's insert number `index`, from 0: client t of n inserts every n-th record
-- after the loaded ones.
local function own(index)
  local clients = sysbench.opt.threads
  return found.recordcount + sysbench.tid % clients + index * clients
end

-- The key of a record that is there. A number after the loaded ones becomes the client's own newest
-- insert at or below it, since those of others may not be committed yet.
local function chosen()
  local number = record()
  if number >= found.recordcount then
    local behind = number - own(0)
    if behind < 0 then
      return key_of(found.recordcount - 1)
    end
    number = own(math.floor(behind / sysbench.opt.threads))
  end
  return key_of(number)
end

local function a_field()
  return draw.uniform(1, found.fieldcount)
end

local function read_field()
  return not found.readallfields and a_field() or nil
end

local function read(key)
  if operations.read(key, read_field()) == 0 then
    error(("`%s` is not there; run `prepare` with the same `recordcount`, `insertorder` and "
      .. "`zeropadding`"):format(key), 0)
  end
end

local function new_values(count)
  local values = {}
  for place = 1, count do
    values[place] = value()
  end
  return values
end

local function update(key)
  local field = not found.writeallfields and a_field() or nil
  operations.update(key, field, new_values(field and 1 or found.fieldcount))
end

kinds.READ = function() read(chosen()) end

kinds.UPDATE = function() update(chosen()) end

kinds.INSERT = function()
  local number = own(inserted)
  operations.insert(key_of(number), new_values(found.fieldcount))
  inserted, last = inserted + 1, number
end

kinds.SCAN = function() operations.scan(chosen(), scan_length(), read_field()) end

kinds["READ-MODIFY-WRITE"] = function()
  local key = chosen()
  read(key)
  update(key)
end

local PROPORTIONS = {
  { "READ", "readproportion" }, { "UPDATE", "updateproportion" },
  { "INSERT", "insertproportion" }, { "SCAN", "scanproportion" },
  { "READ-MODIFY-WRITE", "readmodifywriteproportion" },
}

local function read_mix()
  local sum = 0
  for _, entry in ipairs(PROPORTIONS) do
    sum = sum + found[entry[2]]
  end
  local below = 0
  for _, entry in ipairs(PROPORTIONS) do
    local share = found[entry[2]] / sum
    if share > 0 then
      below = below + share
      mix[#mix + 1] = { below = below, name = entry[1] }
    end
  end
  mix[#mix].below = 1
end

function thread_init()
  found, label = file.properties(), sql.label
  last = found.recordcount - 1
  value = values_of(found)
  record = draw.record(found, function() return last end)
  scan_length = draw.between(found.scanlengthdistribution, found.minscanlength, found.maxscanlength)
  read_mix()
  operations = family().connect(found)
end

function event()
  local number = sysbench.rand.uniform_double()
  for _, entry in ipairs(mix) do
    if number < entry.below then
      label(entry.name)
      return kinds[entry.name]()
    end
  end
end
