-- `dbdyno.documents`: connections with servers of documents (MongoDB), by MongoDB's own verbs.
--
-- As in `keys.lua`, the host's functions return at once or suspend the client, and `false` means
-- that the server refused. A command is encoded before the client is suspended, so tables that are
-- only its envelope are used again.

local host, values, RESTART_EVENT, slots = ...

local setmetatable, getmetatable, error, type = setmetatable, getmetatable, error, type
local pairs, ipairs, tostring = pairs, ipairs, tostring
local send, counts, batch, answer =
  host.document_command, host.document_counts, host.document_batch, host.document_answer
local open_slot = slots.open

local documents, typed_meta, typed, INT64 = values(host)
local array = documents.array

-- Connections and their collections.

local connection, collection = {}, {}
local connection_meta = {
  __index = connection,
  __tostring = function() return "<documents_connection>" end,
}
local collection_meta = {
  __index = collection,
  __tostring = function(self) return ("<collection %s>"):format(self.name) end,
}
local EMPTY = {}

-- Always a tail call, so that messages begin with the script's line. `pcall` gets a table.
local function raise(self, name)
  local action, number, code, message = host.failure(name, false)
  self.error_code, self.error_name, self.error_message = number, code, message
  if action == "ignore" then
    return nil
  elseif action == "stop" then
    error(("the server refused the command %s: %s"):format(name, message), 2)
  end
  error({
    connection = self, command = name, code = number, name = code, message = message,
    errcode = RESTART_EVENT,
  }, 0)
end

-- Sends a command by its name, the name's value and its other fields, to the connection's database
-- or another; returns the answer.
function connection:command(name, value, fields, database)
  local slot = open_slot(self)
  local replied = send(slot, fields, database, name, value == nil and 1 or value)
  if replied == false then
    return raise(self, name)
  elseif replied == nil then
    return nil
  end
  return answer(slot)
end

function connection:collection(name)
  local known = self.collections[name]
  if not known then
    if type(name) ~= "string" then
      error("a collection's name is a string", 2)
    end
    known = setmetatable({ connection = self, name = name }, collection_meta)
    self.collections[name] = known
  end
  return known
end

connection.disconnect, connection.reconnect = slots.disconnect, slots.reconnect

local one = array { n = 1 }

-- Inserts a document; returns 1.
function collection:insert_one(document, options)
  local con = self.connection
  local slot = open_slot(con)
  one[1] = document
  local replied = send(slot, options, nil, "insert", self.name, "documents", one)
  if replied == false then
    return raise(con, "insert")
  end
  return replied and counts(slot)
end

-- Inserts documents; returns how many.
function collection:insert_many(all, options)
  local con = self.connection
  local slot = open_slot(con)
  local replied = send(slot, options, nil, "insert", self.name, "documents", array(all))
  if replied == false then
    return raise(con, "insert")
  end
  return replied and counts(slot)
end

-- Reads the rest of a cursor, into `found` or only to count; returns how many, or `false` if it was
-- refused.
local function drain(self, slot, found, size)
  local count, cursor = batch(slot, found)
  while cursor do
    one[1] = nil
    local replied = send(slot, nil, nil, "getMore", typed(INT64, cursor), "collection", self.name,
      "batchSize", size)
    if not replied then
      return replied
    end
    local more
    more, cursor = batch(slot, found)
    count = count + more
  end
  return count
end

local function sent_find(self, filter, options)
  return send(self.connection[1], options, nil, "find", self.name, "filter", filter or EMPTY)
end

-- All documents that match, as an array with their number in `n`.
function collection:find(filter, options)
  local con = self.connection
  local slot, found = open_slot(con), array { n = 0 }
  local replied = sent_find(self, filter, options)
  if replied then
    replied = drain(self, slot, found, options and options.batchSize)
  end
  if replied == false then
    return raise(con, "find")
  end
  return found
end

-- How many documents match: all are sent by the server, and none is decoded.
function collection:read(filter, options)
  local con = self.connection
  local slot = open_slot(con)
  local replied = sent_find(self, filter, options)
  if replied then
    replied = drain(self, slot, nil, options and options.batchSize)
  end
  if replied == false then
    return raise(con, "find")
  end
  return replied
end

local first = array { n = 0 }

-- The first document that matches; nil if there is none.
function collection:find_one(filter, options)
  local con = self.connection
  local slot = open_slot(con)
  local replied = send(slot, options, nil, "find", self.name, "filter", filter or EMPTY,
    "limit", 1, "singleBatch", true)
  if replied == false then
    return raise(con, "find")
  elseif not replied then
    return nil
  end
  first[1], first.n = nil, 0
  batch(slot, first)
  return first[1]
end

-- Fields of an update or a delete, not of the command around it.
local OF_STATEMENT = {
  upsert = true, arrayFilters = true, collation = true, hint = true, sort = true, let = false,
}

-- Adds those of the options; returns the rest, or nil.
local function into_statement(statement, options)
  if not options then
    return nil
  end
  local rest = {}
  for name, value in pairs(options) do
    if OF_STATEMENT[name] then
      statement[name] = value
    else
      rest[name] = value
    end
  end
  return rest
end

local function update(self, filter, change, options, multi)
  local statement = { q = filter or EMPTY, u = change, multi = multi }
  local rest = into_statement(statement, options)
  one[1] = statement
  return send(open_slot(self.connection), rest, nil, "update", self.name, "updates", one)
end

-- How many were matched and changed, and the `_id` of one that was inserted instead.
local function changed(self, replied)
  if not replied then
    return nil
  end
  local slot = self.connection[1]
  local count, modified, upserted = counts(slot)
  if upserted > 0 then
    return count - upserted, modified, answer(slot).upserted[1]._id
  end
  return count, modified
end

function collection:update_one(filter, change, options)
  local replied = update(self, filter, change, options, false)
  if replied == false then
    return raise(self.connection, "update")
  end
  return changed(self, replied)
end

function collection:update_many(filter, change, options)
  local replied = update(self, filter, change, options, true)
  if replied == false then
    return raise(self.connection, "update")
  end
  return changed(self, replied)
end

-- As `update_one`: the change is a whole document.
collection.replace_one = collection.update_one

local function delete(self, filter, options, limit)
  local statement = { q = filter or EMPTY, limit = limit }
  local rest = into_statement(statement, options)
  one[1] = statement
  return send(open_slot(self.connection), rest, nil, "delete", self.name, "deletes", one)
end

-- Deletes the first document that matches; returns how many that were.
function collection:delete_one(filter, options)
  local replied = delete(self, filter, options, 1)
  if replied == false then
    return raise(self.connection, "delete")
  end
  return replied and counts(self.connection[1])
end

function collection:delete_many(filter, options)
  local replied = delete(self, filter, options, 0)
  if replied == false then
    return raise(self.connection, "delete")
  end
  return replied and counts(self.connection[1])
end

-- The documents that a pipeline gives, as `find`.
function collection:aggregate(pipeline, options)
  local con = self.connection
  local slot, found = open_slot(con), array { n = 0 }
  local size, rest = nil, options
  if options and options.batchSize then
    size, rest = options.batchSize, {}
    for name, value in pairs(options) do
      rest[name] = name ~= "batchSize" and value or nil
    end
  end
  local replied = send(slot, rest, nil, "aggregate", self.name, "pipeline", array(pipeline),
    "cursor", size and { batchSize = size } or EMPTY)
  if replied then
    replied = drain(self, slot, found, size)
  end
  if replied == false then
    return raise(con, "aggregate")
  end
  return found
end

local COUNTED = { ["$group"] = { _id = 1, n = { ["$sum"] = 1 } } }

-- How many documents match, as drivers count them: by a pipeline.
function collection:count_documents(filter)
  local con = self.connection
  local slot = open_slot(con)
  local replied = send(slot, nil, nil, "aggregate", self.name,
    "pipeline", { { ["$match"] = filter or EMPTY }, COUNTED }, "cursor", EMPTY)
  if replied == false then
    return raise(con, "aggregate")
  elseif not replied then
    return nil
  end
  first[1], first.n = nil, 0
  batch(slot, first)
  return first[1] and first[1].n or 0
end

-- The values that a field has, as an array with their number in `n`.
function collection:distinct(field, filter, options)
  local con = self.connection
  local slot, found = open_slot(con), array { n = 0 }
  local replied = send(slot, options, nil, "distinct", self.name, "key", field,
    "query", filter or EMPTY)
  if replied == false then
    return raise(con, "distinct")
  elseif replied then
    batch(slot, found)
  end
  return found
end

-- Makes an index; its options are those of the index.
function collection:create_index(keys, options)
  local con = self.connection
  local index = { key = keys }
  for name, value in pairs(options or EMPTY) do
    index[name] = value
  end
  if not index.name then
    local parts = {}
    if getmetatable(keys) == typed_meta then
      parts = { unpack(keys, 2, keys.n + 1) }
    else
      for name, direction in pairs(keys) do
        parts[#parts + 1], parts[#parts + 2] = name, direction
      end
    end
    for place, part in ipairs(parts) do parts[place] = tostring(part) end
    index.name = table.concat(parts, "_")
  end
  local replied = send(open_slot(con), nil, nil, "createIndexes", self.name, "indexes", { index })
  if replied == false then
    return raise(con, "createIndexes")
  end
  return index.name
end

-- Removes the collection, if it is there.
function collection:drop()
  local con = self.connection
  local slot = open_slot(con)
  local replied = send(slot, nil, nil, "listCollections", 1, "filter", { name = self.name },
    "nameOnly", true)
  if replied == false then
    return raise(con, "listCollections")
  elseif not replied or batch(slot, nil) == 0 then
    return false
  end
  if send(slot, nil, nil, "drop", self.name) == false then
    return raise(con, "drop")
  end
  return true
end

-- How an operation of `bulk_write` is said to the server: command, its list, the statement.
local OPERATIONS = {
  insert_one = { "insert", "documents", function(document) return document end },
  update_one = { "update", "updates", function(given)
    return { q = given.filter or EMPTY, u = given.update, upsert = given.upsert, multi = false,
      arrayFilters = given.arrayFilters }
  end },
  update_many = { "update", "updates", function(given)
    return { q = given.filter or EMPTY, u = given.update, upsert = given.upsert, multi = true,
      arrayFilters = given.arrayFilters }
  end },
  replace_one = { "update", "updates", function(given)
    return { q = given.filter or EMPTY, u = given.replacement, upsert = given.upsert }
  end },
  delete_one = { "delete", "deletes", function(filter) return { q = filter, limit = 1 } end },
  delete_many = { "delete", "deletes", function(filter) return { q = filter, limit = 0 } end },
}

-- The operations as commands: each kind's that follow one another are one command, or all of a kind
-- if their order does not matter.
local function grouped(operations, ordered)
  local groups, of_kind = {}, {}
  for place, operation in ipairs(operations) do
    local name, given = next(operation)
    local how = OPERATIONS[name] or error(("operation %d of bulk_write is `%s`; expected one of "
      .. "insert_one, update_one, update_many, replace_one, delete_one, delete_many"):format(
        place, tostring(name)), 3)
    local group = of_kind[how[1]]
    if not group or (ordered and groups[#groups] ~= group) then
      group = { command = how[1], list = how[2], statements = array { n = 0 } }
      groups[#groups + 1], of_kind[how[1]] = group, group
    end
    local statements = group.statements
    statements.n = statements.n + 1
    statements[statements.n] = how[3](given)
  end
  return groups
end

-- Sends operations in as few commands as there can be; returns how many documents were inserted,
-- matched, changed, deleted and upserted.
function collection:bulk_write(operations, options)
  local con = self.connection
  local slot = open_slot(con)
  local done = { inserted = 0, matched = 0, modified = 0, deleted = 0, upserted = 0 }
  for _, group in ipairs(grouped(operations, not options or options.ordered ~= false)) do
    local replied = send(slot, options, nil, group.command, self.name, group.list, group.statements)
    if replied == false then
      return raise(con, group.command)
    elseif replied then
      local count, modified, upserted = counts(slot)
      if group.command == "insert" then
        done.inserted = done.inserted + count
      elseif group.command == "delete" then
        done.deleted = done.deleted + count
      else
        done.matched = done.matched + count - upserted
        done.modified = done.modified + modified
        done.upserted = done.upserted + upserted
      end
    end
  end
  return done
end

-- A connection for a script's body that is only inspected: its methods do nothing.
local inert = {}
for _, methods in ipairs { connection, collection } do
  for name in pairs(methods) do
    inert[name] = function() end
  end
end
function inert.collection() return inert end

function documents.connect()
  if host.looking() then
    return inert
  elseif not host.answers_documents() then
    local message = "dbdyno.documents.connect() needs a server of documents (MongoDB); "
      .. "the run's target is %s"
    error(message:format(host.driver_name()), 2)
  end
  local slot = host.connect()
  if slot == false then
    error("connection creation failed", 2)
  end
  return setmetatable({ slot, collections = {} }, connection_meta)
end

return documents
