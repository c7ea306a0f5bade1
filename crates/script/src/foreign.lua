-- `ffi` as scripts see it.
--
-- sysbench scripts call C symbols of their host through `ffi.C`. Where sysbench's own would block
-- the thread, only the calling client may be suspended, so these symbols are functions of the host,
-- found by name; all others come from the C library. Clients share one Lua state, so a repeated
-- declaration is ignored.

local host, ffi = ...

local getfenv, tonumber, pcall, error, tostring = getfenv, tonumber, pcall, error, tostring

ffi.cdef [[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT,
  SB_CNT_BYTES_READ, SB_CNT_BYTES_WRITTEN, SB_CNT_MAX
} sb_counter_type;
]]

local declared = {}

-- Splits declarations at semicolons outside braces.
local function pieces(text)
  local found, depth, start = {}, 0, 1
  for place, sign in text:gmatch("()([{};])") do
    if sign == "{" then
      depth = depth + 1
    elseif sign == "}" then
      depth = depth - 1
    elseif depth == 0 then
      found[#found + 1] = text:sub(start, place)
      start = place + 1
    end
  end
  return found
end

local function declare(text, ...)
  if declared[text] then
    return
  end
  local fine, message = pcall(ffi.cdef, text, ...)
  if not fine then
    if not tostring(message):find("attempt to redefine", 1, true) then
      error(message, 2)
    end
    for _, piece in ipairs(pieces(text)) do
      local good, why = pcall(ffi.cdef, piece)
      if not good and not tostring(why):find("attempt to redefine", 1, true) then
        error(why, 2)
      end
    end
  end
  declared[text] = true
end

local symbols = {}

function symbols.sb_more_events() return host.more_events() end
function symbols.sb_event_start() host.event_start() end
function symbols.sb_event_stop() host.event_stop() end

function symbols.sb_counter_inc(_, counter) host.count(tonumber(counter), 1) end
function symbols.sb_counter_add(_, counter, amount)
  host.count(tonumber(counter), tonumber(amount))
end
function symbols.sb_counter_val(_, counter) return host.counted(tonumber(counter)) end

function symbols.sleep(seconds) host.sleep(tonumber(seconds)) return 0 end
function symbols.usleep(microseconds) host.sleep(tonumber(microseconds) / 1e6) return 0 end

function symbols.printf(format, ...)
  local values = { ... }
  for index, value in ipairs(values) do
    if ffi.istype("int64_t", value) then
      values[index] = ffi.cast("int64_t", value)
    elseif ffi.istype("uint64_t", value) then
      values[index] = ffi.cast("uint64_t", value)
    elseif type(value) == "cdata" then
      values[index] = tonumber(value) or ffi.string(value)
    end
  end
  local text = tostring(type(format) == "cdata" and ffi.string(format) or format)
  text = text:gsub("%%([-+ #0]*%d*%.?%d*)[hlzjt]+([diouxX])", "%%%1%2")
  text = text:format(unpack(values))
  host.write(text)
  return #text
end

function symbols.puts(text)
  host.print(type(text) == "cdata" and ffi.string(text) or text)
  return 1
end

local random = host.random
local drawn = { "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique" }
for _, name in ipairs(drawn) do
  symbols["sb_rand_" .. name] = random[name]
end
symbols.sb_rand_uniform_double = random.uniform_double
function symbols.sb_rand_uniform_uint64() return random.uniform_uint64() end

function symbols.sb_rand_str(pattern, buffer)
  local text = random.string(type(pattern) == "cdata" and ffi.string(pattern) or pattern)
  ffi.copy(buffer, text, #text)
end

function symbols.sb_rand_varstr(buffer, least, most)
  local text = random.varstring(tonumber(least), tonumber(most))
  ffi.copy(buffer, text, #text)
  return #text
end

local function symbol(name) return ffi.C[name] end

-- A missing symbol is reported at the script's line.
local function find(_, name)
  local fine, value = pcall(symbol, name)
  if not fine then
    error((tostring(value):gsub("^[^:]*:%d+: ", "")), 2)
  end
  return value
end

local library = setmetatable(symbols, { __index = find })

return { C = library, cdef = declare }
