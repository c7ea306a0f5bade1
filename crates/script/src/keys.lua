-- `dbdyno.keys`: connections with servers of keys (Valkey, Redis), which take commands.
--
-- As in `sql.lua`, the host's functions return at once or suspend the client, and `false` means
-- that the server refused.

local host, join, integer_in, RESTART_EVENT, slots, cluster_of = ...

local setmetatable, error, select = setmetatable, error, select
local send, value, open_slot = host.command, host.value, slots.open

host.keep_integer(integer_in)

local connection = {}
local connection_meta = {
  __index = connection,
  __tostring = function() return "<keys_connection>" end,
}

-- `level`: where the script's line is. `pcall` gets a table.
local function raise_at(level, self, name, action, _, code, message)
  self.error_code, self.error_message = code, message
  if action == "ignore" then
    return nil
  elseif action == "stop" then
    local of = name and (" " .. name) or ""
    error(("the server refused the command%s: %s"):format(of, message), level)
  end
  error({
    connection = self, command = name, code = code, message = message, errcode = RESTART_EVENT,
  }, 0)
end

-- Always a tail call, so that messages begin with the script's line.
local function raise(self, name)
  return raise_at(2, self, name, host.failure(name, false))
end

local connect_cluster, pipeline_of_cluster, cluster_meta = cluster_of(host, slots, raise_at)

-- Sends a command and returns the value of its reply.
function connection:command(...)
  local slot = open_slot(self)
  local replied = send(slot, ...)
  if replied == false then
    return raise(self, (...))
  elseif replied ~= nil then
    return value(slot)
  end
  return nil
end

-- Sends a command and skips the value of its reply: true, or nil if the reply is null.
function connection:run(...)
  local slot = open_slot(self)
  -- Compiled code can't go on after `send`, which may suspend the client.
  if self[2] and join(slot, select("#", ...), ...) then
    return nil
  end
  local replied = send(slot, ...)
  if replied == false then
    return raise(self, (...))
  end
  return replied ~= nil or nil
end

connection.disconnect, connection.reconnect = slots.disconnect, slots.reconnect

-- A connection for a script's body that is only inspected: its methods do nothing.
local inert = {}
for name in pairs(connection) do
  inert[name] = function() end
end

local keys = {}

function keys.connect()
  if host.looking() then
    return inert
  elseif not host.answers_keys() then
    local message = "dbdyno.keys.connect() needs a server of keys (Valkey, Redis); "
      .. "the run's target is %s"
    error(message:format(host.driver_name()), 2)
  end
  local slot = host.connect()
  if slot == false then
    error("connection creation failed", 2)
  end
  if host.is_clustered(slot) then
    return connect_cluster(slot)
  end
  -- The second says whether a pipeline collects its commands (`own.lua`).
  return setmetatable({ slot, false }, connection_meta)
end

return keys, connection_meta, raise, { [cluster_meta] = pipeline_of_cluster }
