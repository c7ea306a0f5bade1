-- OLTP on documents: reads by key and by range, updates and inserts in collections like sysbench's
-- tables.
--
-- Why it exists: it asks of a database of documents what `oltp_read_write` asks of an SQL database,
-- with a script anybody can read and change. How to read it: events and commands by `clients`, and
-- response times by label, which are its operations. docs/workloads/doc_oltp.md
--
-- Runs on MongoDB and servers of its protocol.

sysbench.cmdline.options = {
  tables = { "Number of collections", 1 },
  table_size = { "Documents in each", 10000 },
  point_selects = { "Documents read by key in an event", 10 },
  simple_ranges = { "Ranges of documents read", 1 },
  sum_ranges = { "Ranges whose `k` is summed", 1 },
  order_ranges = { "Ranges read in the order of `c`", 1 },
  distinct_ranges = { "Ranges whose different `c` are read", 1 },
  range_size = { "Documents of a range", 100 },
  index_updates = { "Documents whose `k`, which has an index, is raised", 1 },
  non_index_updates = { "Documents whose `c` is set", 1 },
  inserts = { "Documents inserted", 1 },
  in_selects = { "Reads of ten keys by `$in`", 0 },
  pushes = { "Documents to whose array `a` a number is added", 0 },
  secondary = { "Index `k`", true },
  separate = {
    "Make each operation an event, drawn by their counts, with a label of its own", false,
  },
  batch = { "Documents of an insert of `prepare`, 1 to 10000", 1000 },
}

if dbdyno then
  dbdyno.volume = function(opt)
    local rows = opt.tables * opt.table_size
    return { rows = rows, bytes = rows * 250 }
  end
end

-- The texts of sysbench's tables: groups of eleven digits.
local C, PAD = ("###########-"):rep(9) .. "###########", ("###########-"):rep(4) .. "###########"

local function check_options()
  local opt = sysbench.opt
  if opt.tables < 1 or opt.table_size < 1 or opt.range_size < 1 then
    error("`tables`, `table_size` and `range_size` are 1 or more", 0)
  elseif opt.batch < 1 or opt.batch > 10000 then
    error("`batch` is 1 to 10000", 0)
  end
end

local function name_of(number)
  return "sbtest" .. number
end

local function document_of(id)
  local rand = sysbench.rand
  return {
    _id = id, k = rand.default(1, sysbench.opt.table_size), c = rand.string(C),
    pad = rand.string(PAD),
  }
end

local function fill(collection)
  local opt = sysbench.opt
  local made = {}
  for id = 1, opt.table_size do
    made[#made + 1] = document_of(id)
    if #made == opt.batch or id == opt.table_size then
      collection:insert_many(made)
      made = {}
    end
  end
  if opt.secondary then
    collection:create_index({ k = 1 })
  end
end

-- Client t has the collections t+1, t+1+threads, …
local function each_collection(act)
  check_options()
  local connection = dbdyno.documents.connect()
  for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    act(connection:collection(name_of(number)))
  end
end

sysbench.cmdline.commands = {
  prepare = { function() each_collection(fill) end, sysbench.cmdline.PARALLEL_COMMAND },
  cleanup = {
    function() each_collection(function(collection) collection:drop() end) end,
    sysbench.cmdline.PARALLEL_COMMAND,
  },
}

-- Operations and the options that count them.
local COUNTS = {
  { "point_select", "point_selects" }, { "simple_range", "simple_ranges" },
  { "sum_range", "sum_ranges" }, { "order_range", "order_ranges" },
  { "distinct_range", "distinct_ranges" }, { "in_select", "in_selects" },
  { "index_update", "index_updates" }, { "non_index_update", "non_index_updates" },
  { "push", "pushes" }, { "insert", "inserts" },
}

local opt, rand, label, must_find, total
local collections = {}

function thread_init()
  check_options()
  opt, rand, label = sysbench.opt, sysbench.rand, dbdyno.label
  must_find, total = opt.db_driver == "mongodb", 0
  for _, entry in ipairs(COUNTS) do
    total = total + opt[entry[2]]
  end
  local connection = dbdyno.documents.connect()
  for number = 1, opt.tables do
    collections[number] = connection:collection(name_of(number))
  end
end

local function collection()
  return collections[rand.uniform(1, opt.tables)]
end

local function an_id()
  return rand.default(1, opt.table_size)
end

-- Tables that are only the envelope of a command are made once.
local by_id, between, range = {}, {}, {}
range._id = between

local function a_range()
  local from = an_id()
  between["$gte"], between["$lte"] = from, from + opt.range_size - 1
  return range
end

local operations = {}

function operations.point_select()
  by_id._id = an_id()
  if not collection():find_one(by_id) and must_find then
    error("a document is not there; run `prepare` with the same `tables` and `table_size`", 0)
  end
end

local ONLY_C = { projection = { c = 1, _id = 0 } }
local IN_ORDER = { projection = { c = 1, _id = 0 }, sort = { c = 1 } }

function operations.simple_range() collection():find(a_range(), ONLY_C) end

local SUM = { ["$group"] = { _id = 1, k = { ["$sum"] = "$k" } } }
local matching = {}
local summing = { matching, SUM }

function operations.sum_range()
  matching["$match"] = a_range()
  collection():aggregate(summing)
end

function operations.order_range() collection():find(a_range(), IN_ORDER) end

function operations.distinct_range() collection():distinct("c", a_range()) end

local RAISED = { ["$inc"] = { k = 1 } }

function operations.index_update()
  by_id._id = an_id()
  collection():update_one(by_id, RAISED)
end

local text = {}
local setting = { ["$set"] = text }

function operations.non_index_update()
  by_id._id, text.c = an_id(), rand.string(C)
  collection():update_one(by_id, setting)
end

-- The server gives it an `_id`, so that runs can follow one another.
function operations.insert()
  collection():insert_one(document_of(nil))
end

local ten = {}
local any_of_ten = { _id = { ["$in"] = ten } }

function operations.in_select()
  for place = 1, 10 do
    ten[place] = an_id()
  end
  collection():find(any_of_ten, ONLY_C)
end

local pushing = { ["$push"] = { a = 1 } }

function operations.push()
  by_id._id = an_id()
  pushing["$push"].a = rand.uniform(1, 1000)
  collection():update_one(by_id, pushing)
end

-- One operation, each as often as its count says.
local function separately()
  local place = rand.uniform(1, total)
  for _, entry in ipairs(COUNTS) do
    place = place - opt[entry[2]]
    if place <= 0 then
      label(entry[1])
      return operations[entry[1]]()
    end
  end
end

function event()
  if opt.separate then
    return separately()
  end
  for _, entry in ipairs(COUNTS) do
    local operation = operations[entry[1]]
    for _ = 1, opt[entry[2]] do
      operation()
    end
  end
end
