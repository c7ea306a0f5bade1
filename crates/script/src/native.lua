-- The most frequent operations of scripts, called through FFI.
--
-- Calling a function of the Lua C API ends compiled code; these are called from within it. None of
-- them suspends the client or raises an error; functions that may do so are in the host table.

local host, settings, ffi, whole_in = ...

local natives, suspend = host.natives, host.suspend
local cast, copy, text_at = ffi.cast, ffi.copy, ffi.string
local error, tonumber, tostring, type = error, tonumber, tostring, type
-- By this a buffer is known: `getmetatable` of one ends compiled code.
local buffer_ref = require("string.buffer").new().ref
local abs, istype = math.abs, ffi.istype

local draw_default = cast("double (*)(double, double)", natives.default)
local draw_uniform = cast("double (*)(double, double)", natives.uniform)
local draw_gaussian = cast("double (*)(double, double)", natives.gaussian)
local draw_pareto = cast("double (*)(double, double)", natives.pareto)
local draw_zipfian = cast("double (*)(double, double)", natives.zipfian)
local draw_special = cast("double (*)(double, double)", natives.special)
local draw_unique = cast("double (*)(void)", natives.unique)
local draw_unit = cast("double (*)(void)", natives.uniform_double)
local draw_bits = cast("uint64_t (*)(void)", natives.uniform_uint64)
local draw_pattern = cast("const char *(*)(const char *, size_t)", natives.pattern)
local draw_text = cast("const char *(*)(double, double, size_t *)", natives.text)
local fill_pattern = cast("void (*)(const char *, char *, size_t)", natives.fill_pattern)
local ask_next = cast("int (*)(void)", natives.next_event)
local append_row = cast("int (*)(uint32_t, const char *, size_t)", natives.append_row)
local join_command = cast("int (*)(uint32_t, const void *, size_t, const void *, size_t, "
  .. "const void *, size_t)", natives.join_command)

local random = {}

function random.default(low, high) return draw_default(low, high) end
function random.uniform(low, high) return draw_uniform(low, high) end
function random.gaussian(low, high) return draw_gaussian(low, high) end
function random.pareto(low, high) return draw_pareto(low, high) end
function random.zipfian(low, high) return draw_zipfian(low, high) end
function random.special(low, high) return draw_special(low, high) end
function random.unique() return draw_unique() end
function random.uniform_double() return draw_unit() end
function random.uniform_uint64() return draw_bits() end

function random.string(pattern)
  if type(pattern) ~= "string" then
    error("sysbench.rand.string() needs a pattern", 2)
  end
  return text_at(draw_pattern(pattern, #pattern), #pattern)
end

local length = ffi.new("size_t[1]")

function random.varstring(least, most)
  local start = draw_text(least, most, length)
  return text_at(start, length[0])
end

-- Ends the current event and begins the next one, unless the load has ended.
local GO_START, GO_WAIT = 1, 2

local function next_event()
  local go = ask_next()
  if go == GO_WAIT then
    return suspend()
  end
  return go == GO_START
end

-- Rows of bulk inserts.

local ROW_TAKEN, BATCH_FULL, NOT_BEGUN = 0, 1, 2
local row_faults = {
  [NOT_BEGUN] = "con:bulk_insert_next() without con:bulk_insert_init()",
  [3] = "con:bulk_insert_next() did not get exactly one row this time: pass one row in "
    .. "parentheses each time, or set `loaders` to 0",
}

-- Returns true when the batch should be flushed.
local function bulk_append(slot, values)
  if type(values) ~= "string" then
    error("con:bulk_insert_next() needs the values in parentheses", 3)
  end
  local said = append_row(slot, values, #values)
  if said == ROW_TAKEN then
    return false
  end
  if said == BATCH_FULL then
    return true
  elseif said == NOT_BEGUN and settings.drop_in then
    host.print("ALERT: attempt to call bulk_insert_next() before bulk_insert_init()")
    error("db_bulk_insert_next() failed", 3)
  end
  error(row_faults[said], 3)
end

-- Where a word of a command is, and its size. Nil: it is no text. A buffer's text needs not become
-- a string, which is looked up among all strings and collected again.
local function text_of(word)
  local kind = type(word)
  if kind == "string" then
    return word, #word
  elseif kind == "userdata" and word.ref == buffer_ref then
    local start, size = buffer_ref(word)
    -- A buffer that never held anything is nowhere, which would end the words.
    if size == 0 then
      return "", 0
    end
    return start, size
  end
end

-- Adds a command of two or three texts to a pipeline. False: `host.command` has to take it.
local function join(slot, words, name, first, second)
  if (words == 2 or words == 3) and type(name) == "string" then
    local start, size = text_of(first)
    if start and words == 2 then
      return join_command(slot, name, #name, start, size, nil, 0) ~= 0
    end
    local behind, more = text_of(second)
    if start and behind then
      return join_command(slot, name, #name, start, size, behind, more) ~= 0
    end
  end
  return false
end

-- Parameters of prepared statements.

-- The host reads the same memory when the statement is executed.
ffi.cdef [[
typedef struct {
  uint32_t mark; uint8_t sql_type, content; uint32_t length, capacity;
  int64_t integer; double number; char text[?];
} dbdyno_parameter;
]]

local MARK = 0xd8170002
local NULL, INTEGER, NUMBER, TEXT, UNSIGNED = 0, 1, 2, 3, 4
local LAST_INTEGER, LAST_NUMBER, LAST_TYPE = 4, 6, 12
local TEXT_BYTES, MOST_TEXT_BYTES = 255, 16777216

local SIGNED_64, UNSIGNED_64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

local parameter = {}

-- Integers are kept exactly up to the largest of 64 bits without a sign; a larger number goes as it
-- is, so that the server refuses it and not some other number is stored.
local function set_wide(self, value)
  local kind = type(value)
  if kind == "string" then
    -- Digits that are no integer of 64 bits would be rounded to one.
    local digits_alone = value:match("^%s*[+-]?%d+%.?%d*%s*$")
    value = whole_in(value) or not digits_alone and tonumber(value)
    if type(value) == "number" and abs(value) >= 2 ^ 64 then
      value = nil
    end
  elseif kind == "cdata" and not istype(SIGNED_64, value) and not istype(UNSIGNED_64, value) then
    value = tonumber(value)
  end
  local plain = type(value) == "number" and abs(value) < math.huge
  if not (plain or istype(SIGNED_64, value) or istype(UNSIGNED_64, value)) then
    error("param:set() of an integer parameter needs an integer of at most 64 bits, or nil", 3)
  elseif plain and (value < -2 ^ 63 or value >= 2 ^ 64) then
    self.number, self.content = value, NUMBER
    return
  elseif plain and value >= 2 ^ 63 then
    value = cast(UNSIGNED_64, value)
  end
  local beyond = istype(UNSIGNED_64, value) and value > 0x7fffffffffffffffULL
  self.integer, self.content = value, beyond and UNSIGNED or INTEGER
end

local function set_number(self, value)
  local number = tonumber(value)
  if not number then
    error("param:set() of a number parameter needs a number or nil", 3)
  end
  self.number, self.content = number, NUMBER
end

-- An integer as its digits, not as Lua shortens it (1e+15).
local function digits(value)
  if type(value) == "number" then
    local whole = value % 1 == 0 and abs(value) < 2 ^ 63
    return whole and ("%d"):format(value) or tostring(value)
  end
  return istype(SIGNED_64, value) and ("%d"):format(cast(SIGNED_64, value))
    or istype(UNSIGNED_64, value) and ("%u"):format(cast(UNSIGNED_64, value))
end

-- Text beyond the capacity is cut off, as in sysbench.
local function set_text(self, value)
  if type(value) ~= "string" then
    value = digits(value) or error("param:set() of a text parameter needs a string or nil", 3)
  end
  local bytes = #value < self.capacity and #value or self.capacity
  copy(self.text, value, bytes)
  self.length, self.content = bytes, TEXT
end

function parameter:set(value)
  if value == nil then
    self.content = NULL
  elseif self.sql_type <= LAST_INTEGER then
    -- Of all numbers that fit, only the smallest takes the longer way.
    if type(value) == "number" and abs(value) < 2 ^ 63 then
      self.integer, self.content = value, INTEGER
    else
      set_wide(self, value)
    end
  elseif self.sql_type <= LAST_NUMBER then
    set_number(self, value)
  else
    set_text(self, value)
  end
end

function parameter:set_rand_str(pattern)
  if type(pattern) ~= "string" then
    error("param:set_rand_str() needs a pattern", 2)
  end
  local bytes = #pattern < self.capacity and #pattern or self.capacity
  fill_pattern(pattern, self.text, bytes)
  self.length, self.content = bytes, TEXT
end

local new_parameter = ffi.metatype("dbdyno_parameter", {
  __index = parameter, __tostring = function() return "<sql_param>" end,
})

local function create_parameter(_, sql_type, most)
  local kind = type(sql_type) ~= "string" and tonumber(sql_type) or 0
  if kind < 1 or kind > LAST_TYPE or kind % 1 ~= 0 then
    error("Unsupported argument type: " .. tostring(sql_type), 2)
  end
  local capacity = 0
  if kind > LAST_NUMBER then
    capacity = math.min(tonumber(most) or 0, MOST_TEXT_BYTES)
    capacity = capacity > 0 and capacity or TEXT_BYTES
  end
  local made = new_parameter(capacity)
  made.mark, made.sql_type, made.capacity = MARK, kind, capacity
  return made
end

return random, next_event, create_parameter, bulk_append, join
