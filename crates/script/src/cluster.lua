-- A connection with a cluster of Valkey or Redis: one to each node that has keys.
--
-- Which node has which slots is known from CLUSTER SLOTS, for all clients of the shard together,
-- and corrected by each MOVED. A command goes to the node of its first key. Where that was another,
-- the node says so and the command is sent to the right one: a wrong guess costs a round trip.

-- `raise(level, connection, command, action, number, code, message)`
local host, slots, raise = ...

local error, ipairs, pairs, pcall, setmetatable = error, ipairs, pairs, pcall, setmetatable
local getmetatable, select, tonumber, tostring, type, unpack =
  getmetatable, select, tonumber, tostring, type, unpack
local send, value, slot_of, open_slot = host.command, host.value, host.slot_of_key, slots.open

-- A command that is sent on so often goes round in circles.
local REDIRECTS_MAX = 16
local REDIRECTS = { MOVED = true, ASK = true }

-- The argument that is a command's first key, where it is not the first: `counted`: the third, if
-- the second says that there are any; `streams`: what follows the word; 0: none.
local FIRST_KEY = {
  BITOP = 2, BLMPOP = 3, BZMPOP = 3, LMPOP = 2, MEMORY = 2, OBJECT = 2, SINTERCARD = 2, XGROUP = 2,
  XINFO = 2, ZDIFF = 2, ZINTER = 2, ZINTERCARD = 2, ZMPOP = 2, ZUNION = 2,
  EVAL = "counted", EVALSHA = "counted", EVAL_RO = "counted", EVALSHA_RO = "counted",
  FCALL = "counted", FCALL_RO = "counted", XREAD = "streams", XREADGROUP = "streams",
}
for name in ([[
  ACL AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG ECHO FLUSHALL FLUSHDB
  FUNCTION INFO KEYS LASTSAVE LATENCY LOLWUT MODULE PING PUBLISH RANDOMKEY READONLY READWRITE ROLE
  SAVE SCAN SCRIPT SLOWLOG TIME UNWATCH WAIT WAITAOF]]):gmatch("%S+") do
  FIRST_KEY[name] = 0
end
-- Of a single node: which, the command does not say.
local OF_A_NODE = { DISCARD = true, EXEC = true, MULTI = true, SELECT = true }

-- By names as scripts write them.
local first_key = setmetatable({}, {
  __index = function(known, name)
    local upper = type(name) == "string" and name:upper() or ""
    known[name] = OF_A_NODE[upper] and "refused" or FIRST_KEY[upper] or 1
    return known[name]
  end,
})

local function plain(word)
  if type(word) == "userdata" and getmetatable(word) == "buffer" then
    return tostring(word)
  end
  return word
end

-- Words without buffers, whose text may be another when a node sends the command on.
local function strings(word, ...)
  if select("#", ...) == 0 then
    return plain(word)
  end
  return plain(word), strings(...)
end

-- What is known of a cluster, by the id of each of its nodes: `at` has the address of a slot's
-- node, `address_of` that of a node's id.
local clusters = {}

local connection = {}
local meta = {
  __index = connection,
  __tostring = function() return "<keys_cluster_connection>" end,
}

-- The value of a command of ours to a node.
local function asked(self, slot, ...)
  if send(slot, ...) == false then
    raise(3, self, (...), host.failure((...), false))
    error(("%s is needed and was refused: %s"):format((...), self.error_message), 0)
  end
  return value(slot)
end

local function learn(self, slot, own_id)
  local cluster = { at = {}, address_of = {} }
  for _, range in ipairs(asked(self, slot, "CLUSTER", "SLOTS")) do
    local node = range[3]
    local address = ("%s:%d"):format(node[1] or "", node[2])
    cluster.address_of[node[3]] = address
    for number = range[1], range[2] do
      cluster.at[number] = address
    end
    clusters[node[3]] = cluster
  end
  clusters[own_id] = cluster
  return cluster
end

-- The connection to a node, made if need be.
local function node(self, address)
  local slot = self.nodes[address]
  if not slot then
    slot = host.connect(address)
    if slot == false then
      error("connection creation failed", 0)
    end
    self.nodes[address] = slot
  end
  return slot
end

-- Where a command goes by what is known.
local function destination(self, name, ...)
  local at = first_key[name]
  if at == "refused" then
    error(("on a cluster %s is not possible: it concerns a single node, and does not say which")
      :format(name), 4)
  elseif at == "counted" then
    local _, count = ...
    at = tonumber(count) ~= 0 and 3 or 0
  elseif at == "streams" then
    at = 0
    for place, word in ipairs { ... } do
      if type(word) == "string" and word:upper() == "STREAMS" then
        at = place + 1
        break
      end
    end
  end
  local key
  if at == 1 then
    key = ...
  elseif at > 0 then
    key = select(at, ...)
  end
  local address = key and self.cluster.at[slot_of(key)]
  return address and node(self, address) or self[1]
end

-- Notes what a node said (`MOVED 3999 127.0.0.1:6381`) and returns the connection to the other.
local function other_node(self, message)
  local code, number, address = message:match("^(%u+) (%d+) (%S+)")
  if code == "MOVED" then
    self.cluster.at[tonumber(number)] = address
  end
  return node(self, address), code == "ASK"
end

-- Pipelines: each node has its own, begun with its first command.

local join

-- Sends commands of a node's last batch on that belong to another node.
local function send_on(self, slot, batch)
  local number, message = host.redirected(slot)
  local found = {}
  while number do
    found[#found + 1] = { batch[number], message }
    number, message = host.redirected(slot)
  end
  for place = batch.answered + 1, batch.n do
    batch[place] = nil
  end
  batch.answered = batch.n
  for _, redirected in ipairs(found) do
    local command, message = redirected[1], redirected[2]
    command.redirects = (command.redirects or 0) + 1
    if command.redirects > REDIRECTS_MAX then
      error(("the cluster sends %s from node to node: %s"):format(command[1], message), 0)
    end
    local to, asking = other_node(self, message)
    if asking then
      join(self, to, { "ASKING" })
    end
    join(self, to, command)
  end
  return #found > 0
end

function join(self, slot, command)
  local batch = self.batches[slot]
  if not batch then
    host.pipeline_begin(slot, self.depth)
    batch = { n = 0, answered = 0 }
    self.batches[slot] = batch
  end
  batch.n = batch.n + 1
  batch[batch.n] = command
  if send(slot, unpack(command)) == false then
    return raise(4, self, nil, host.failure(nil, false))
  elseif batch.n - batch.answered == self.depth then
    send_on(self, slot, batch)
  end
end

-- Sends what is left until no node sends anything on; returns the first failure.
local function finish(self, fine)
  local failed
  repeat
    local again = false
    for slot, batch in pairs(self.batches) do
      -- With nothing in flight it would end the pipeline itself.
      if batch.n > batch.answered then
        if host.pipeline_end(slot) == false then
          failed = failed or { host.failure(nil, false) }
        end
        again = fine and not failed and send_on(self, slot, batch)
        if again then
          break
        end
      end
    end
  until not again
  return failed
end

local function pipeline(self, depth, body, ...)
  open_slot(self)
  self.depth, self.batches = depth, {}
  host.pipeline_begin(self[1], depth)
  self.batches[self[1]] = { n = 0, answered = 0 }
  local fine, value = pcall(body, ...)
  local ended, failed = pcall(finish, self, fine)
  for slot in pairs(self.batches) do
    host.pipeline_end(slot)
    host.pipeline_end(slot)
  end
  self.batches = nil
  if not fine then
    error(value, 0)
  elseif not ended then
    error(failed, 0)
  elseif failed then
    return raise(2, self, nil, unpack(failed))
  end
end

-- Sends a command to its node, and on to others as these say; returns the connection that answered
-- and what `send` returned.
local function ask(self, ...)
  local slot = destination(self, ...)
  if self.batches then
    join(self, slot, { ... })
    return slot, nil
  end
  local replied = send(slot, ...)
  for _ = 1, REDIRECTS_MAX do
    if replied ~= false then
      return slot, replied
    end
    local action, number, code, message = host.failure((...), false)
    if not REDIRECTS[code] then
      return slot, raise(4, self, (...), action, number, code, message)
    end
    local asking
    slot, asking = other_node(self, message)
    if asking then
      asked(self, slot, "ASKING")
    end
    replied = send(slot, ...)
  end
  error(("the cluster sends %s from node to node"):format((...)), 3)
end

function connection:command(...)
  open_slot(self)
  local slot, replied = ask(self, strings(...))
  if replied ~= nil then
    return value(slot)
  end
  return nil
end

function connection:run(...)
  open_slot(self)
  local _, replied = ask(self, strings(...))
  return replied ~= nil or nil
end

function connection:disconnect()
  if self[1] then
    for _, slot in pairs(self.nodes) do
      host.disconnect(slot)
    end
    self[1], self.nodes = nil, {}
  end
end

function connection:reconnect()
  open_slot(self)
  for _, slot in pairs(self.nodes) do
    if host.reconnect(slot) == false then
      error("connection creation failed", 2)
    end
  end
end

-- Makes a connection with a cluster of one to a node of it, and connects to the others.
local function connect(slot)
  local self = setmetatable({ slot, nodes = {} }, meta)
  local id = asked(self, slot, "CLUSTER", "MYID")
  self.cluster = clusters[id] or learn(self, slot, id)
  self.nodes[self.cluster.address_of[id] or ""] = slot
  for _, address in pairs(self.cluster.address_of) do
    node(self, address)
  end
  return self
end

return connect, pipeline, meta
