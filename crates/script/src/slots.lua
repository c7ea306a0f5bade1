-- What connections with servers of keys and of documents share: their slot in the host, which is
-- their first element until they are closed.

local host = ...

local error = error

local slots = {}

-- The slot of a connection, for its methods: the error is the script's line.
function slots.open(connection)
  return connection[1] or error("attempt to use an already closed connection", 3)
end

function slots.disconnect(connection)
  if connection[1] then
    host.disconnect(connection[1])
    connection[1] = nil
  end
end

function slots.reconnect(connection)
  if host.reconnect(slots.open(connection)) == false then
    error("connection creation failed", 2)
  end
end

return slots
