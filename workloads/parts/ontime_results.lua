-- What the queries of `ontime.lua` must return, counted from the rows as they are generated, and
-- whether a server's result is that.

local flights = require("parts.ontime_rows")

local results = {}

local function count(counts, key)
  counts[key] = (counts[key] or 0) + 1
end

local function add(means, key, value)
  local mean = means[key] or { 0, 0 }
  mean[1], mean[2] = mean[1] + value, mean[2] + 1
  means[key] = mean
end

local function quotients(means, factor)
  local values = {}
  for key, mean in pairs(means) do
    values[key] = { mean[1] * factor / mean[2] }
  end
  return values
end

local function one_each(counts)
  local values = {}
  for key, value in pairs(counts) do
    values[key] = { value }
  end
  return values
end

local function shares(late, all)
  local values = {}
  for key, value in pairs(late) do
    values[key] = { value, all[key], value * 1000 / all[key] }
  end
  return values
end

local function thousandths(late, all)
  local values = {}
  for key, figures in pairs(shares(late, all)) do
    values[key] = { figures[3] }
  end
  return values
end

local function mean_count(counts)
  local sum, groups = 0, 0
  for _, value in pairs(counts) do
    sum, groups = sum + value, groups + 1
  end
  return { [""] = groups > 0 and { sum / groups } or {} }
end

local PAIR = "%s|%s"

-- For each query a table: `rows`, key of a row → its figures; `keys`, how many columns the key has;
-- `falls`, the figure by which rows fall; `limit`, how many of them are returned.
function results.expected(total)
  local weekdays, late_weekdays, late_origins, late_2007, all_2007 = {}, {}, {}, {}, {}
  local late_span, all_span, delay_carrier, delay_year, years = {}, {}, {}, {}, {}
  local late15, months, pairs_of_cities, cities, late_year = {}, {}, {}, {}, {}
  for number = 1, total do
    local f = flights.flight(number, total)
    local year, late = f.year, (f.delay or 0) > 10
    local month = year * 100 + f.month
    count(years, year)
    count(months, month)
    count(cities, f.from.city)
    count(pairs_of_cities, PAIR:format(f.from.city, f.to.city))
    if f.delay then
      add(delay_year, year, f.delay)
    end
    if late then
      count(late_year, year)
    end
    if f.late15 == 1 then
      count(late15, month)
    end
    if year >= 2000 and year <= 2008 then
      count(weekdays, f.weekday)
      count(all_span, f.carrier)
      if f.delay then
        add(delay_carrier, f.carrier, f.delay)
      end
      if late then
        count(late_weekdays, f.weekday)
        count(late_origins, f.from.code)
        count(late_span, f.carrier)
      end
    end
    if year == 2007 then
      count(all_2007, f.carrier)
      if late then
        count(late_2007, f.carrier)
      end
    end
  end
  local late_in_years = { rows = thousandths(late_year, years), keys = 1 }
  return {
    { rows = one_each(weekdays), keys = 1, falls = 1 },
    { rows = one_each(late_weekdays), keys = 1, falls = 1 },
    { rows = one_each(late_origins), keys = 1, falls = 1, limit = 10 },
    { rows = one_each(late_2007), keys = 1, falls = 1 },
    { rows = shares(late_2007, all_2007), keys = 1, falls = 3 },
    { rows = shares(late_span, all_span), keys = 1, falls = 3 },
    { rows = quotients(delay_carrier, 1000), keys = 1 },
    { rows = quotients(delay_year, 1), keys = 1 },
    { rows = one_each(years), keys = 1 },
    { rows = mean_count(late15), keys = 0 },
    { rows = mean_count(months), keys = 0 },
    { rows = one_each(pairs_of_cities), keys = 2, falls = 1, limit = 10 },
    { rows = one_each(cities), keys = 1, falls = 1, limit = 10 },
    late_in_years,
    late_in_years,
  }
end

-- Servers write means and quotients with other numbers of digits, and PostgreSQL and SQLite divide
-- whole numbers without a rest.
local function equal(value, truth)
  local least = 1e-4 * math.max(1, math.abs(truth))
  return math.abs(value - truth) <= least or value == math.floor(truth)
end

-- The least figure that is not returned may be no larger than any that is.
local function left_out(expected, returned)
  local largest = -math.huge
  for key, figures in pairs(expected.rows) do
    if not returned[key] then
      largest = math.max(largest, figures[expected.falls])
    end
  end
  return largest
end

-- What is wrong with a result, as words; nil if nothing is.
function results.problem(expected, found)
  local size, returned, last = 0, {}, math.huge
  for _ in pairs(expected.rows) do
    size = size + 1
  end
  local wanted = math.min(size, expected.limit or size)
  if found.nrows ~= wanted then
    return ("%d rows in place of %d"):format(found.nrows, wanted)
  end
  for _ = 1, found.nrows do
    local row = found:fetch_row()
    local key = expected.keys == 2 and PAIR:format(row[1], row[2]) or row[1]
    if expected.keys == 0 then
      key = ""
    end
    local figures = expected.rows[key] or expected.rows[tonumber(key) or key]
    if not figures or returned[key] then
      return ("a row for %s"):format(key)
    end
    returned[tonumber(key) or key] = true
    for place, truth in ipairs(figures) do
      local value = tonumber(row[expected.keys + place])
      if not value or not equal(value, truth) then
        return ("%s has %s in place of %.10g"):format(key, row[expected.keys + place], truth)
      end
    end
    if expected.falls then
      local value = tonumber(row[expected.keys + expected.falls])
      if value > last then
        return ("%s has %s and stands behind %.10g"):format(key, value, last)
      end
      last = value
    end
  end
  if expected.limit and left_out(expected, returned) > last then
    return ("a row with %.10g is missing"):format(left_out(expected, returned))
  end
end

return results
