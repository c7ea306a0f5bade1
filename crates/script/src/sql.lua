-- Connections, statements and their results.
--
-- The host's functions either return at once or suspend the calling client and return when it is
-- resumed; this file need not know which. `false` from a statement means that it failed: `raise`
-- then asks the host what to do.

local host, settings, create_parameter, bulk_append, RESTART_EVENT = ...

local getfenv, setmetatable, error, tostring = getfenv, setmetatable, error, tostring
local type = type

local connections = setmetatable({}, { __mode = "v" })

-- On sysbench's command line, misuse prints sysbench's ALERT, and what sysbench tolerates is
-- tolerated; elsewhere it is an error. Returns whether it is tolerated.
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

-- The connection in an error descriptor: prints as a connection and forwards to it, but has no
-- fields to walk through. It refers to the connection without keeping it open.
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

-- A statement without rows returns a null pointer, as in sysbench: equal to nil, and yet true.
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

-- Always a tail call, so that messages begin with the script's line. Hooks and `pcall` get a table.
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

-- The statement's environment keeps its parameters alive: the host holds raw pointers.
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
  -- The server's message has been printed; sysbench's last line does not repeat it.
  local told, failed = pcall(raise, self[1], sql)
  if not told and type(failed) == "table" then
    error(failed, 0)
  end
  error("SQL API error", 2)
end

-- Closing twice is no error. The slot's number may be reused by another connection.
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

-- A table's rows depend only on the seed and on the text before them, not on which client writes
-- them: the host restarts the client's random numbers here.
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

-- A connection for a script's body that is only inspected: its methods do nothing.
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
