-- Values of documents that Lua has no type for, as scripts make and see them.

local host = ...

local setmetatable, getmetatable, error, type = setmetatable, getmetatable, error, type
local tostring, tonumber, select, rawget = tostring, tonumber, select, rawget

-- Values that Lua has no type for: { BSON's type, value, … }.
local typed_meta, array_meta = {}, {}
host.keep_document_types(typed_meta, array_meta)

local DOUBLE, ORDERED, BINARY, OBJECT_ID, DATE, NULL, REGEX, INT64, MIN_KEY, MAX_KEY =
  0x01, 0x03, 0x05, 0x07, 0x09, 0x0a, 0x0b, 0x12, 0xff, 0x7f
local NAMES = {
  [DOUBLE] = "double", [ORDERED] = "ordered", [BINARY] = "binary", [OBJECT_ID] = "object_id",
  [DATE] = "date", [NULL] = "null", [REGEX] = "regex", [0x11] = "timestamp", [INT64] = "int64",
  [0x13] = "decimal", [MIN_KEY] = "min_key", [MAX_KEY] = "max_key",
}

local function typed(...)
  return setmetatable({ ... }, typed_meta)
end

function typed_meta.__index(self, name)
  if name == "value" then
    return rawget(self, 2)
  end
end

function typed_meta.__eq(one, other)
  return one[1] == other[1] and one[2] == other[2] and one[3] == other[3]
end

function typed_meta.__tostring(self)
  local value = self[2]
  if type(value) == "string" and self[1] ~= INT64 then
    value = value:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
  end
  return ("<%s %s>"):format(NAMES[self[1]] or "value", tostring(value))
end

local values = {
  null = typed(NULL), min_key = typed(MIN_KEY), max_key = typed(MAX_KEY),
}

-- A document whose names keep their order: ordered("a", 1, "b", -1).
function values.ordered(...)
  local made = typed(ORDERED, ...)
  made.n = select("#", ...)
  if made.n % 2 == 1 then
    error("documents.ordered() takes names and values in turn", 2)
  end
  return made
end

-- A table as array, even if it is empty.
local function array(values)
  if getmetatable(values) == array_meta then
    return values
  end
  values.n = values.n or #values
  return setmetatable(values, array_meta)
end
values.array = array

local function checked(name, kind, what)
  values[name] = function(value)
    if type(value) ~= what then
      error(("documents.%s() takes a %s"):format(name, what), 2)
    end
    return typed(kind, value)
  end
end

checked("double", DOUBLE, "number")
checked("date", DATE, "number")

-- A 64-bit integer, of a number or of its digits.
function values.int64(value)
  local digits = type(value) == "number" and ("%.0f"):format(value) or tostring(value)
  digits = digits:match("^(%-?%d+)U?L?L?$")
  return typed(INT64, digits or error("documents.int64() takes an integer or its digits", 2))
end

function values.binary(bytes, subtype)
  if type(bytes) ~= "string" then
    error("documents.binary() takes a string", 2)
  end
  return typed(BINARY, bytes, subtype or 0)
end

function values.object_id(hex)
  if type(hex) ~= "string" or not hex:match("^%x+$") or #hex ~= 24 then
    error("documents.object_id() takes 24 hexadecimal digits", 2)
  end
  return typed(OBJECT_ID, (hex:gsub("%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end)))
end

function values.regex(pattern, options)
  return typed(REGEX, pattern, options or "")
end

return values, typed_meta, typed, INT64
