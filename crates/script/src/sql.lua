-- Connections, statements and what they return.
--
-- The host's functions either return at once or suspend the calling client and return when it is
-- resumed; nothing here knows which. `false` from a statement means that it failed: `raise` then
-- asks the host what to do about it.

local host, settings, create_parameter, bulk_append, RESTART_EVENT = ...

local getfenv, setmetatable, error, tostring = getfenv, setmetatable, error, tostring
local type = type

local connections = setmetatable({}, { __mode = "v" })

-- Under the field's command line a misuse is told in its words, and what it lets pass is let pass
-- here too; elsewhere it is an error. Returns whether it may pass.
local CLOSED = "attempt to use an already closed connection"

local function alert(text)
  if settings.drop_in then
    host.print("ALERT: " .. text)
    return true
  end
  return false
end

local function closed(level)
  if alert(CLOSED) then
    error("SQL API error", level)
  end
  error("SQL API error: " .. CLOSED, 3)
end

-- What error descriptors hold for a connection: it prints as one and does what it does, and nobody
-- walks through its fields. It holds the connection, which holds up nothing here.
local handles = setmetatable({}, { __mode = "kv" })

local function handle_of(connection)
  if not connection then
    return nil
  end
  local made = handles[connection]
  if not made then
    made = newproxy(true)
    local meta = getmetatable(made)
    function meta.__index(_, name)
      local found = connection[name]
      if type(found) ~= "function" then
        return found
      end
      return function(_, ...) return found(connection, ...) end
    end
    function meta.__newindex(_, name, value) connection[name] = value end
    function meta.__tostring() return "<sql_connection>" end
    handles[connection] = made
  end
  return made
end

-- What a statement without rows returns is the field's null pointer: equal to nil, and yet true.
local no_rows = { nrows = 0, nfields = 0, affected_rows = 0 }
function no_rows.fetch_row() return nil end
function no_rows.free() return true end

local nothing
do
  local C = require("ffi")
  C.cdef "struct dbdyno_no_rows {};"
  C.metatype("struct dbdyno_no_rows", {
    __index = function(_, name) return no_rows[name] end,
    __tostring = function() return "<sql_result>" end,
  })
  nothing = C.cast("struct dbdyno_no_rows *", nil)
  host.keep_nothing(nothing)
end

-- Always called last, so that messages begin with the script's line. Hooks and `pcall` get a table.
local function raise(slot, query, executed)
  local text = query
  if executed ~= nil then
    text = executed or nil
  end
  local action, errno, state, message = host.failure(text, executed ~= nil)
  local connection = connections[slot]
  if connection then
    connection.error = action == "stop" and 2 or 1
    connection.sql_errno, connection.sql_state, connection.sql_errmsg = errno, state, message
  end
  if action == "ignore" then
    return nil
  end
  local failed = {
    connection = handle_of(connection), query = query,
    sql_errno = errno, sql_state = state, sql_errmsg = message,
  }
  if action == "stop" then
    local ignorable = getfenv(0).sysbench.hooks.sql_error_ignorable
    if not (ignorable and ignorable(failed)) then
      error(("SQL error, errno = %d, state = '%s': %s"):format(errno, state, message), 2)
    end
  end
  failed.errcode = RESTART_EVENT
  error(failed, 0)
end

local statement = { bind_create = create_parameter }

function statement:execute()
  local result = host.statement_execute(self)
  if result == false then
    return raise(host.statement_slot(self), "<prepared statement>", host.statement_text(self))
  elseif result == true then
    return alert(CLOSED) and nothing or error("SQL API error: " .. CLOSED, 2)
  end
  return result
end

-- The statement's environment keeps its parameters alive: the host holds plain pointers.
function statement:bind_param(...)
  if select("#", ...) == 0 then
    return nil
  end
  host.statement_bind(self, ...)
  return 0
end

function statement:close()
  host.statement_close(self)
  return 0
end

function statement:next_result()
  return host.next_result(host.statement_slot(self))
end

host.set_metatable("statement", {
  __index = statement, __gc = host.statement_collect,
  __tostring = function() return "<sql_statement>" end,
})
host.set_metatable("result", {
  __index = host.result_index,
  __tostring = function() return "<sql_result>" end,
})

local function free(result)
  if host.free_result(result) then
    return true
  end
  local freed = "attempt to free an invalid result set"
  error(alert(freed) and "db_free_results() failed" or "SQL API error: " .. freed, 2)
end

local function fetch_row(result)
  local row = host.fetch_row(result)
  if row == false then
    local freed = "attempt to fetch row from an invalid result set"
    return not alert(freed) and error("SQL API error: " .. freed, 2) or nil
  end
  return row
end

host.result_methods { fetch_row = fetch_row, free = free }

local connection = { error = 0, sql_errno = 0, sql_state = "", sql_errmsg = "" }
local connection_meta = {
  __index = connection,
  __tostring = function() return "<sql_connection>" end,
}

local function succeeded(self, result)
  if self.error ~= 0 then
    self.error = 0
  end
  return result
end

function connection:query(sql)
  if not self[1] then
    closed(0)
  end
  local result = host.query(self[1], sql)
  if result == false then
    return raise(self[1], sql)
  end
  return succeeded(self, result)
end

function connection:query_row(sql)
  if not self[1] then
    closed(3)
  end
  local result = host.query(self[1], sql)
  if result == false then
    return raise(self[1], sql)
  end
  local row = succeeded(self, result) ~= nil and result:fetch_row()
  if row then
    return unpack(row, 1, result.nfields)
  end
  return nil
end

function connection:prepare(sql)
  if not self[1] then
    return not alert(CLOSED) and error("SQL API error: " .. CLOSED, 2) or nil
  end
  local prepared = host.prepare(self[1], sql)
  if prepared ~= false then
    return prepared
  end
  if not settings.drop_in then
    return raise(self[1], sql)
  end
  -- The server's words have been told; the field's last line has none of them.
  local told, failed = pcall(raise, self[1], sql)
  if not told and type(failed) == "table" then
    error(failed, 0)
  end
  error("SQL API error", 2)
end

-- A second time is no error. The number of the slot may be another connection's next.
function connection:disconnect()
  if self[1] then
    host.disconnect(self[1])
    self[1] = nil
  else
    alert("attempt to close an already closed connection")
  end
  return true
end

-- Rows that the last statement inserted, changed or removed.
function connection:affected_rows()
  return host.affected_rows(self[1])
end

function connection:reconnect()
  if host.reconnect(self[1]) == false then
    error("connection creation failed", 2)
  end
end

function connection:more_results()
  return host.more_results(self[1])
end

function connection:next_result()
  return host.next_result(self[1])
end

function connection:check_error(result, query)
  if result == false then
    return raise(self[1], query)
  end
  return result
end

-- Waits until the rows are stored.
local function end_bulk(slot)
  if host.bulk_end(slot) == false then
    return raise(slot)
  end
end

-- The rows of a table depend on the seed and on the text before them alone, not on which client
-- writes them: the host starts the client's random numbers anew here.
function connection:bulk_insert_init(prefix)
  if not self[1] and alert(CLOSED) then
    return nil
  end
  end_bulk(self[1])
  self.bulk_prefix = prefix
  host.bulk_begin(self[1], prefix)
  return true
end

function connection:bulk_insert_next(values)
  if not self[1] then
    return not alert(CLOSED) and error("SQL API error: " .. CLOSED, 2) or nil
  end
  if bulk_append(self[1], values) and host.bulk_flush(self[1]) == false then
    return raise(self[1], self.bulk_prefix)
  end
  return true
end

function connection:bulk_insert_done()
  if not self[1] and settings.drop_in then
    return nil
  end
  if host.bulk_flush(self[1]) == false then
    return raise(self[1], self.bulk_prefix)
  end
  end_bulk(self[1])
  return true
end

local driver = {}

function driver:name()
  return host.driver_name()
end

-- What a script's body gets for a connection while it is only looked at: nothing happens.
local inert = {}
local inert_methods = { query = function() return nothing end, query_row = function() end }
setmetatable(inert, {
  __index = function(_, name)
    return inert_methods[name] or function() return inert end
  end,
})

function driver:connect()
  if host.looking() then
    return inert
  end
  local slot = host.connect()
  if slot == false then
    error("connection creation failed", 2)
  end
  local made = setmetatable({ slot, driver = self }, connection_meta)
  connections[slot] = made
  return made
end

local the_driver = setmetatable({}, {
  __index = driver,
  __tostring = function() return "<sql_driver>" end,
})

return the_driver, connection_meta, raise, end_bulk
