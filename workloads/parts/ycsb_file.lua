-- YCSB's properties: what a workload file says, options that overrule it, and YCSB's own defaults.

local file = {}

-- The core workload's properties with YCSB's defaults. `_` stands for the dot of
-- `exponential.percentile` and `exponential.frac`.
local DEFAULTS = {
  recordcount = 1000, operationcount = 0, insertstart = 0, insertcount = "",
  fieldcount = 10, fieldlength = 100, minfieldlength = 1, fieldlengthdistribution = "constant",
  fieldnameprefix = "field", table = "usertable", zeropadding = 1, insertorder = "hashed",
  readallfields = true, writeallfields = false,
  readproportion = 0.95, updateproportion = 0.05, insertproportion = 0, scanproportion = 0,
  readmodifywriteproportion = 0, requestdistribution = "uniform",
  minscanlength = 1, maxscanlength = 1000, scanlengthdistribution = "uniform",
  hotspotdatafraction = 0.2, hotspotopnfraction = 0.8,
  exponential_percentile = 95, exponential_frac = 0.8571428571,
}

-- Properties that say how YCSB's client works, and what to use here.
local ELSEWHERE = {
  threadcount = "--clients", target = "--rate", maxexecutiontime = "--time",
  db = "the URL",
}

local ALLOWED = {
  fieldlengthdistribution = { constant = true, uniform = true, zipfian = true },
  insertorder = { hashed = true, ordered = true },
  requestdistribution = { uniform = true, zipfian = true, latest = true, hotspot = true,
    exponential = true, sequential = true },
  scanlengthdistribution = { uniform = true, zipfian = true },
}

-- Properties that are refused, with the value that is.
local REFUSED = {
  dataintegrity = "true", readallfieldsbyname = "true",
}

-- Each property as an option of the script; empty: as the file or YCSB's default has it.
function file.options(own)
  for name, default in pairs(DEFAULTS) do
    own[name] = { ("YCSB's `%s`; its default is %s"):format((name:gsub("_", ".")),
      default == "" and "recordcount - insertstart" or tostring(default)), "" }
  end
  return own
end

-- In the working folder, then where scripts are searched for: beside a study.
local function open(name)
  local found = io.open(name)
  for place in package.path:gmatch("([^;]+)%?%.lua") do
    found = found or (not name:match("^/") and io.open(place .. name))
  end
  if not found then
    error(("--file=%s: there is no such file in the working folder or beside the study"):format(
      name), 0)
  end
  return found
end

local function trimmed(text)
  return text:match("^%s*(.-)%s*$")
end

-- Lines of Java's properties: `name = value` or `name: value`, `#` and `!` for comments; a `\` at
-- the end goes on in the next line.
local function read(name, into)
  local opened = open(name)
  local whole = opened:read("*a"):gsub("\r\n", "\n")
  opened:close()
  -- The line that a property begins on, and what is read of it so far.
  local number, first, begun = 0, 1, ""
  for part in (whole .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    local line = begun .. trimmed(part)
    local is_comment = line == "" or line:match("^[#!]")
    if not is_comment and line:match("\\$") then
      begun = line:sub(1, -2)
    else
      if not is_comment then
        local key, value = line:match("^([^=:%s]+)%s*[=:%s]%s*(.*)$")
        if not key then
          error(("%s:%d: expected NAME=VALUE; found %q"):format(name, first, line), 0)
        end
        into[key] = { value = value, from = ("%s:%d"):format(name, first) }
      end
      begun, first = "", number + 1
    end
  end
end

local function typed(name, text, from)
  local default, value = DEFAULTS[name], text
  if type(default) == "number" or name == "insertcount" and text ~= "" then
    value = tonumber(text)
    if not value or value < 0 then
      error(("%s: %s=%s: expected a number, 0 or more"):format(from, name, text), 0)
    end
  elseif type(default) == "boolean" then
    value = text:lower() == "true"
  elseif ALLOWED[name] and not ALLOWED[name][text] then
    local known = {}
    for word in pairs(ALLOWED[name]) do
      known[#known + 1] = word
    end
    table.sort(known)
    error(("%s: %s=%s: expected %s"):format(from, name, text, table.concat(known, ", ")), 0)
  end
  return value
end

local function check(found)
  local sum = found.readproportion + found.updateproportion + found.insertproportion
    + found.scanproportion + found.readmodifywriteproportion
  if sum <= 0 then
    error("the proportions of all operations are 0: nothing to do", 0)
  elseif found.recordcount < 1 or found.fieldcount < 1 then
    error("`recordcount` and `fieldcount` are 1 or more", 0)
  elseif found.insertstart + found.insertcount > found.recordcount then
    error("`insertstart` + `insertcount` is more than `recordcount`", 0)
  elseif found.minscanlength < 1 or found.minscanlength > found.maxscanlength then
    error("expected 1 <= `minscanlength` <= `maxscanlength`", 0)
  elseif found.minfieldlength > found.fieldlength
      and found.fieldlengthdistribution ~= "constant" then
    error("`minfieldlength` is more than `fieldlength`", 0)
  elseif not found.table:match("^[%a_][%w_]*$")
      or not found.fieldnameprefix:match("^[%a_]%w*$") then
    error("`table` and `fieldnameprefix` are names: letters, digits and _", 0)
  end
  return found
end

-- Names the properties of `given` that nothing has read.
local function print_unread(given)
  local names = {}
  for name in pairs(given) do
    names[#names + 1] = ELSEWHERE[name] and ("%s (here %s)"):format(name, ELSEWHERE[name]) or name
  end
  table.sort(names)
  if #names > 0 and sysbench.tid == 0 then
    print("not read from the workload file: " .. table.concat(names, ", "))
  end
end

-- All properties by name, with numbers and booleans as such.
function file.properties()
  local given, found = {}, {}
  for name in sysbench.opt.file:gmatch("[^,]+") do
    read(trimmed(name), given)
  end
  for name, value in pairs(REFUSED) do
    if given[name] and given[name].value == value then
      error(("%s: %s=%s: not supported"):format(given[name].from, name, value), 0)
    end
  end
  local class = given.workload
  if class and not class.value:match("%.CoreWorkload$") then
    error(("%s: workload=%s: not supported; only CoreWorkload is"):format(class.from, class.value),
      0)
  end
  given.workload = nil
  for name, default in pairs(DEFAULTS) do
    local as_written = name:gsub("_", ".")
    local option, entry = sysbench.opt[name], given[as_written]
    given[as_written] = nil
    if option ~= "" then
      found[name] = typed(name, tostring(option), "option")
    elseif entry then
      found[name] = typed(name, entry.value, entry.from)
    else
      found[name] = default
    end
  end
  if found.insertcount == "" then
    found.insertcount = found.recordcount - found.insertstart
  end
  print_unread(given)
  return check(found)
end

return file
