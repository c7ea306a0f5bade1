-- A script's own options: parses the user's values and describes what is defined.

local host, settings, ARGUMENT, integer_in = ...

local SIZES = { K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }
local ON = { on = true, ["true"] = true, ["1"] = true, [""] = true, yes = true }
local OFF = { off = true, ["false"] = true, ["0"] = true, no = true }

local function as_boolean(value)
  if type(value) == "boolean" then return value end
  local word = tostring(value):lower()
  if ON[word] then return true end
  if OFF[word] then return false end
  return nil, "on or off"
end

-- Integers that a Lua number can't hold exactly are FFI's: `%d` and parameters take them so.
local function exactly(value)
  return type(value) == "cdata" and value or type(value) == "string" and integer_in(value)
end

-- No number is "not a number".
local function as_double(value)
  local number = tonumber(value)
  return number == number and number or nil, "a number"
end

-- `%d` would write an integer without a sign as a negative one.
local function is_beyond(value)
  return require("ffi").istype("uint64_t", value)
end

local function as_number(value)
  local whole = exactly(value)
  local digits = type(value) == "string" and not whole and value:match("^%s*[+-]?%d+%s*$")
  if digits or type(value) == "string" and is_beyond(whole) then
    return nil, "a number; whole ones below 2^63"
  end
  if whole then return whole end
  return as_double(value)
end

local function as_integer(value)
  local number = tonumber(value)
  local whole = exactly(value)
  if not whole and number and number == math.floor(number) and math.abs(number) <= 2 ^ 53 then
    whole = number
  end
  local beyond = type(whole) == "number" and whole >= 2 ^ 63 or is_beyond(whole)
  if not whole or type(value) == "string" and beyond then
    return nil, "a whole number below 2^63"
  end
  return whole
end

local function as_size(value)
  local text = type(value) == "cdata" and tostring(value):match("%d+") or tostring(value)
  local digits, unit = text:match("^%s*([%d.]+)%s*([KMGTkmgt]?)[Bb]?%s*$")
  local number = tonumber(digits)
  local factor = SIZES[(unit or ""):upper()] or 1
  local whole = number and integer_in(digits)
  -- Of those that a Lua number can't hold, none has room for a unit.
  local exact = type(whole) == "cdata"
  if not number or is_beyond(whole) or (not exact or factor > 1) and number * factor >= 2 ^ 63 then
    return nil, "a size such as 64K or 2G"
  elseif whole and number * factor >= 2 ^ 53 then
    return whole * (0LL + factor)
  end
  return number * factor
end

local function as_list(value)
  if type(value) == "table" then return value end
  local list = {}
  for word in tostring(value):gmatch("[^,]+") do
    list[#list + 1] = word
  end
  return list
end

local READERS = {
  [ARGUMENT.ARG_BOOL] = as_boolean, [ARGUMENT.ARG_INT] = as_integer,
  [ARGUMENT.ARG_SIZE] = as_size, [ARGUMENT.ARG_DOUBLE] = as_double,
  [ARGUMENT.ARG_STRING] = function(value) return tostring(value) end,
  [ARGUMENT.ARG_LIST] = as_list, [ARGUMENT.ARG_FILE] = function(value) return tostring(value) end,
}
-- Without a default, a number is 0 and a switch is on.
local EMPTY = {
  [ARGUMENT.ARG_INT] = 0, [ARGUMENT.ARG_SIZE] = 0, [ARGUMENT.ARG_DOUBLE] = 0,
}
local READER_OF_DEFAULT = {
  boolean = as_boolean, number = as_number, cdata = as_number, table = as_list,
  string = READERS[ARGUMENT.ARG_STRING], ["nil"] = READERS[ARGUMENT.ARG_STRING],
}

-- Fills `sysbench.opt` from the script's definitions and the user's values. On a bad value returns
-- nil and either "unknown", name, or "value", name, found, expected.
local function resolve_options(definitions, given)
  local options, known = {}, {}
  for name, value in pairs(settings.general) do
    options[name] = value
  end
  for name, definition in pairs(definitions or {}) do
    name = name:gsub("-", "_")
    if type(definition) ~= "table" then
      local form = "a table: { \"what it is\", default, type }"
      return nil, "value", name, type(definition), form
    end
    local default, argument = definition[2], definition[3]
    local reader = argument and READERS[argument] or READER_OF_DEFAULT[type(default)]
    if not reader then
      return nil, "value", name, type(default), "a boolean, number, string or table as default"
    end
    known[name] = reader
    if default == nil then default = EMPTY[argument] or "" end
    local value, expected = reader(default)
    if value == nil then
      return nil, "value", name, tostring(default), expected
    end
    options[name] = value
  end
  for name, value in pairs(given) do
    name = name:gsub("-", "_")
    local reader = known[name]
    if reader then
      local read, expected = reader(value)
      if read == nil then
        return nil, "value", name, tostring(value), expected
      end
      options[name] = read
    elseif definitions == nil then
      options[name] = value
    elseif settings.general[name] == nil then
      return nil, "unknown", name, known
    end
  end
  return options
end

local function check_values(definitions, options)
  for name, definition in pairs(definitions or {}) do
    local validate = definition[4]
    if type(validate) == "function" then
      local fine, message = pcall(validate, options[(name:gsub("-", "_"))])
      if not fine then
        return message
      end
    end
  end
end

local KINDS = {
  [ARGUMENT.ARG_BOOL] = "bool", [ARGUMENT.ARG_INT] = "int", [ARGUMENT.ARG_SIZE] = "size",
  [ARGUMENT.ARG_DOUBLE] = "double", [ARGUMENT.ARG_STRING] = "text", [ARGUMENT.ARG_LIST] = "list",
  [ARGUMENT.ARG_FILE] = "file", boolean = "bool", number = "double", cdata = "int", table = "list",
  string = "text", ["nil"] = "text",
}

local function kind_of(definition)
  return KINDS[definition[3] or type(definition[2])] or "text"
end

local function shown(value)
  if type(value) == "boolean" then return value and "on" or "off" end
  if type(value) == "table" then return table.concat(value, ",") end
  return (tostring(value):gsub("^(-?%d+)U?LL$", "%1"))
end

-- Describes what the script defines, one item per line, tab-separated.
local function describe(env)
  local lines = {}
  local function add(...)
    local parts = { ... }
    for index, part in ipairs(parts) do
      parts[index] = tostring(part):gsub("[\t\n]", " ")
    end
    lines[#lines + 1] = table.concat(parts, "\t")
  end
  local cmdline = env.sysbench.cmdline
  if cmdline.options then
    add("options")
  end
  for name, definition in pairs(cmdline.options or {}) do
    assert(definition[1] ~= nil, ("option `%s` has no description"):format(name))
    local default = definition[2] ~= nil and shown(definition[2]) or nil
    add("option", name, kind_of(definition), definition[1], default)
  end
  for name in pairs(cmdline.commands or {}) do
    if ARGUMENT.command_defined(name) then
      add("command", name, ARGUMENT.command_parallel(name) and "parallel" or "alone")
    end
  end
  for _, name in ipairs { "event", "thread_run", "prepare", "cleanup", "help" } do
    if type(rawget(env, name)) == "function" then
      add("function", name)
    end
  end
  for _, name in ipairs { "report_intermediate", "report_cumulative" } do
    if env.sysbench.hooks[name] then
      add("hook", name)
    end
  end
  return table.concat(lines, "\n")
end

local WRITTEN = {
  bool = "[=on|off]", int = "=N", size = "=SIZE", double = "=N", text = "=STRING",
  list = "=[LIST,...]", file = "=FILENAME",
}

function ARGUMENT.print_test_options()
  local definitions = getfenv(0).sysbench.cmdline.options or {}
  local names, written, width = {}, {}, 0
  for name, definition in pairs(definitions) do
    names[#names + 1] = name
    written[name] = name .. WRITTEN[kind_of(definition)]
    width = math.max(width, #written[name])
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local definition = definitions[name]
    local default = definition[2] ~= nil and (" [%s]"):format(shown(definition[2])) or ""
    host.print(("  --%-" .. width .. "s %s%s"):format(written[name], definition[1], default))
  end
  host.print("")
end

function ARGUMENT.call_command(name)
  if not ARGUMENT.command_defined(name) then
    return false
  end
  return getfenv(0).sysbench.cmdline.commands[name][1]() ~= false
end

return resolve_options, check_values, describe
