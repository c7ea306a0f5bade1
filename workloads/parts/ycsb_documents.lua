-- YCSB's records as documents, with the commands of its MongoDB client: the key is `_id`, fields
-- are text.

local documents = {}

local AT_ONCE = 100

local function fields_of(found, values, field)
  local fields = {}
  for place, value in ipairs(values) do
    fields[found.fieldnameprefix .. (field or place) - 1] = value
  end
  return fields
end

local function collection(found)
  return dbdyno.documents.connect():collection(found.table)
end

-- `key_of(number)`, `value()`: of a record.
function documents.prepare(found, key_of, value)
  local of, step, made = collection(found), sysbench.opt.threads, {}
  local function send()
    if #made > 0 then
      of:insert_many(made)
      made = {}
    end
  end
  for number = found.insertstart + sysbench.tid % step,
      found.insertstart + found.insertcount - 1, step do
    local values = {}
    for place = 1, found.fieldcount do
      values[place] = value()
    end
    local record = fields_of(found, values)
    record._id = key_of(number)
    made[#made + 1] = record
    if #made == AT_ONCE then
      send()
    end
  end
  send()
end

function documents.cleanup(found)
  collection(found):drop()
end

-- As in `ycsb_rows.lua`.
function documents.connect(found)
  local of, operations = collection(found), {}
  local by_key, set = {}, {}
  local scan_options = { sort = { _id = 1 } }
  local projections = {}
  for place = 1, found.fieldcount do
    projections[place] = { projection = { [found.fieldnameprefix .. place - 1] = 1 } }
  end

  function operations.read(which, field)
    by_key._id = which
    return of:find_one(by_key, field and projections[field]) and 1 or 0
  end

  function operations.scan(from, count, field)
    scan_options.limit = count
    scan_options.projection = field and projections[field].projection or nil
    return of:find({ _id = { ["$gte"] = from } }, scan_options).n
  end

  function operations.update(which, field, values)
    by_key._id, set["$set"] = which, fields_of(found, values, field)
    of:update_one(by_key, set)
  end

  function operations.insert(which, values)
    local record = fields_of(found, values)
    record._id = which
    of:insert_one(record)
  end

  return operations
end

return documents
