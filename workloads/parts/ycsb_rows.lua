-- YCSB's records in a table of an SQL database, with the statements of its JDBC client.

local sql = require("parts.sql")

local rows = {}

-- Records that a bulk insert of `prepare` makes: the same whatever the number of clients.
local PART = 10000
local TEXT_MAX = 65535

local function columns_of(found)
  local names = {}
  for number = 1, found.fieldcount do
    names[number] = found.fieldnameprefix .. number - 1
  end
  return names
end

local function create(connection, found)
  sql.create_table(connection, found.table, "YCSB_KEY VARCHAR(255) NOT NULL PRIMARY KEY, "
    .. table.concat(columns_of(found), " TEXT, ") .. " TEXT")
end

-- `key_of(number)`, `value()`: of a record.
function rows.prepare(found, key_of, value)
  local connection = sql.connect()
  if sysbench.tid % sysbench.opt.threads == 0 then
    create(connection, found)
  else
    sql.await_table(connection, found.table)
  end
  local into = ("%s (YCSB_KEY, %s)"):format(found.table, table.concat(columns_of(found), ", "))
  local last = found.insertstart + found.insertcount - 1
  for part in sql.share(math.ceil(found.insertcount / PART)) do
    sql.begin_rows(connection, into, part)
    local first = found.insertstart + (part - 1) * PART
    for number = first, math.min(first + PART - 1, last) do
      local values = {}
      for place = 1, found.fieldcount do
        values[place] = value()
      end
      connection:bulk_insert_next(("('%s', '%s')"):format(
        key_of(number), table.concat(values, "', '")))
    end
    connection:bulk_insert_done()
  end
end

function rows.cleanup(found)
  sql.drop_tables(sql.connect(), { found.table })
end

-- The operations on a connection of the client's own. A number of a field means that field alone;
-- without it all are read or written. `read` and `scan` return how many records they found.
function rows.connect(found)
  local connection = sql.connect()
  local names = columns_of(found)
  local name = found.table
  local key, text = sql.text(255), sql.text(math.min(found.fieldlength, TEXT_MAX))
  local texts = {}
  for place = 1, found.fieldcount do
    texts[place] = text
  end

  local reads, scans, updates = {}, {}, {}
  local function selected(field)
    return field and names[field] or "*"
  end
  local function assigned(field)
    return field and names[field] .. " = ?" or table.concat(names, " = ?, ") .. " = ?"
  end

  local insert = sql.statement(connection, ("INSERT INTO %s (YCSB_KEY, %s) VALUES (?%s)"):format(
    name, table.concat(names, ", "), (", ?"):rep(found.fieldcount)), key, unpack(texts))

  local operations = {}

  function operations.read(which, field)
    local place = field or 0
    reads[place] = reads[place] or sql.statement(connection,
      ("SELECT %s FROM %s WHERE YCSB_KEY = ?"):format(selected(field), name), key)
    return reads[place](which).nrows
  end

  function operations.scan(from, count, field)
    local place = field or 0
    scans[place] = scans[place] or sql.statement(connection,
      ("SELECT %s FROM %s WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?"):format(
        selected(field), name), key, sql.INTEGER)
    return scans[place](from, count).nrows
  end

  function operations.update(which, field, values)
    local place = field or 0
    if not updates[place] then
      local types = { unpack(texts, 1, field and 1 or found.fieldcount) }
      types[#types + 1] = key
      updates[place] = sql.statement(connection,
        ("UPDATE %s SET %s WHERE YCSB_KEY = ?"):format(name, assigned(field)), unpack(types))
    end
    values[#values + 1] = which
    updates[place](unpack(values))
  end

  function operations.insert(which, values)
    insert(which, unpack(values))
  end

  return operations
end

return rows
