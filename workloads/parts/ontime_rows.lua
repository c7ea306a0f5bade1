-- Rows of flights, one for each number from 1 on: every value follows from the number and from how
-- many rows there are, so that `ontime.lua` knows each query's result without asking a server.
--
-- The columns are those of the on-time statistics of the United States' Bureau of Transportation:
-- 109, of which most hold one of a few values or nothing. docs/workloads/ontime.md

local bit = require("bit")

local rows = {}

local INTEGER, TEXT = "INTEGER", "VARCHAR(40)"

local HEAD = {
  { "Year", INTEGER }, { "Quarter", INTEGER }, { "Month", INTEGER }, { "DayofMonth", INTEGER },
  { "DayOfWeek", INTEGER }, { "FlightDate", TEXT }, { "UniqueCarrier", TEXT },
  { "AirlineID", INTEGER }, { "Carrier", TEXT }, { "TailNum", TEXT }, { "FlightNum", TEXT },
  { "OriginAirportID", INTEGER }, { "OriginAirportSeqID", INTEGER },
  { "OriginCityMarketID", INTEGER }, { "Origin", TEXT }, { "OriginCityName", TEXT },
  { "OriginState", TEXT }, { "OriginStateFips", TEXT }, { "OriginStateName", TEXT },
  { "OriginWac", INTEGER }, { "DestAirportID", INTEGER }, { "DestAirportSeqID", INTEGER },
  { "DestCityMarketID", INTEGER }, { "Dest", TEXT }, { "DestCityName", TEXT },
  { "DestState", TEXT }, { "DestStateFips", TEXT }, { "DestStateName", TEXT },
  { "DestWac", INTEGER }, { "CRSDepTime", INTEGER }, { "DepTime", INTEGER },
  { "DepDelay", INTEGER }, { "DepDelayMinutes", INTEGER }, { "DepDel15", INTEGER },
  { "DepartureDelayGroups", INTEGER }, { "DepTimeBlk", TEXT }, { "TaxiOut", INTEGER },
  { "WheelsOff", INTEGER }, { "WheelsOn", INTEGER }, { "TaxiIn", INTEGER },
  { "CRSArrTime", INTEGER }, { "ArrTime", INTEGER }, { "ArrDelay", INTEGER },
  { "ArrDelayMinutes", INTEGER }, { "ArrDel15", INTEGER }, { "ArrivalDelayGroups", INTEGER },
  { "ArrTimeBlk", TEXT }, { "Cancelled", INTEGER }, { "CancellationCode", TEXT },
  { "Diverted", INTEGER }, { "CRSElapsedTime", INTEGER }, { "ActualElapsedTime", INTEGER },
  { "AirTime", INTEGER }, { "Flights", INTEGER }, { "Distance", INTEGER },
  { "DistanceGroup", INTEGER }, { "CarrierDelay", INTEGER }, { "WeatherDelay", INTEGER },
  { "NASDelay", INTEGER }, { "SecurityDelay", INTEGER }, { "LateAircraftDelay", INTEGER },
  { "FirstDepTime", INTEGER }, { "TotalAddGTime", INTEGER }, { "LongestAddGTime", INTEGER },
  { "DivAirportLandings", INTEGER }, { "DivReachedDest", INTEGER },
  { "DivActualElapsedTime", INTEGER }, { "DivArrDelay", INTEGER }, { "DivDistance", INTEGER },
}
-- Of each of five airports to which a flight may be diverted.
local DIVERTED = {
  { "Airport", TEXT }, { "AirportID", INTEGER }, { "AirportSeqID", INTEGER },
  { "WheelsOn", INTEGER }, { "TotalGTime", INTEGER }, { "LongestGTime", INTEGER },
  { "WheelsOff", INTEGER }, { "TailNum", TEXT },
}

-- Columns that may be empty, besides those of airports to which flights are diverted.
local MAY_BE_NULL = {}
for name in ([[
  DepTime DepDelay DepDelayMinutes DepDel15 DepartureDelayGroups TaxiOut WheelsOff WheelsOn TaxiIn
  ArrTime ArrDelay ArrDelayMinutes ArrDel15 ArrivalDelayGroups CancellationCode ActualElapsedTime
  AirTime CarrierDelay WeatherDelay NASDelay SecurityDelay LateAircraftDelay FirstDepTime
  TotalAddGTime LongestAddGTime DivReachedDest DivActualElapsedTime DivArrDelay DivDistance
]]):gmatch("%w+") do
  MAY_BE_NULL[name] = true
end

-- Of each its name, its type in SQL, and whether it may be NULL.
rows.COLUMNS = {}
for place, column in ipairs(HEAD) do
  rows.COLUMNS[place] = { column[1], column[2], MAY_BE_NULL[column[1]] }
end
for airport = 1, 5 do
  for _, column in ipairs(DIVERTED) do
    rows.COLUMNS[#rows.COLUMNS + 1] = {
      ("Div%d%s"):format(airport, column[1]), column[2], true,
    }
  end
end

local CARRIERS = {
  "WN", "DL", "AA", "UA", "US", "NW", "CO", "OO", "MQ", "EV", "AS", "XE", "TW", "HP", "B6", "FL",
  "OH", "F9", "YV", "9E",
}
local AIRPORTS = 300
local FIRST_YEAR, LAST_YEAR = 1987, 2018
local LENGTHS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- The days from 1987 on, in order: year, month, day, and day of the week, 1 on Mondays. The first
-- year begins with October, as the statistics do.
local days = {}
do
  local weekday = 4
  for year = FIRST_YEAR, LAST_YEAR do
    for month = year == FIRST_YEAR and 10 or 1, 12 do
      local leap = month == 2 and year % 4 == 0 and 1 or 0
      for day = 1, LENGTHS[month] + leap do
        days[#days + 1] = { year, month, day, weekday }
        weekday = weekday % 7 + 1
      end
    end
  end
end

local airports = {}
for number = 1, AIRPORTS do
  local first, second = math.floor((number - 1) / 26), (number - 1) % 26
  local code = "A" .. string.char(65 + first) .. string.char(65 + second)
  -- Some cities have two airports.
  local city = number > 290 and number - 290 or number
  local state = city % 50
  airports[number] = {
    code = code, city = ("City %d, S%02d"):format(city, state), state = ("S%02d"):format(state),
    fips = ("%02d"):format(state), name = ("State %d"):format(state), wac = 10 + state,
    id = 10000 + number, market = 30000 + city,
  }
end

-- Xorshift with 32 bits (Marsaglia, 2003); the number of the row, spread, is its start.
local state = 0

local function begin(number)
  state = bit.tobit(number * 40503 + 2654435769)
  if state == 0 then
    state = 1
  end
  for _ = 1, 3 do
    state = bit.bxor(state, bit.lshift(state, 13))
    state = bit.bxor(state, bit.rshift(state, 17))
    state = bit.bxor(state, bit.lshift(state, 5))
  end
end

-- From 0 up to, and without, `below`.
local function draw(below)
  state = bit.bxor(state, bit.lshift(state, 13))
  state = bit.bxor(state, bit.rshift(state, 17))
  state = bit.bxor(state, bit.lshift(state, 5))
  return math.floor((state + 2147483648) / 4294967296 * below)
end

-- The smaller of two draws: the first ones come up most, as large carriers and airports do.
local function mostly_first(below)
  return math.min(draw(below), draw(below))
end

local flight = {}

-- What the queries read of flight `number` of `count`; the table is used again by the next call.
-- Flights are in the order of their days. A flight in fifty is cancelled and has no delay; of the
-- others three in four leave up to 10 minutes late or early.
function rows.flight(number, count)
  begin(number)
  local day = days[1 + math.floor((number - 1) * #days / count)]
  flight.year, flight.month, flight.day, flight.weekday = day[1], day[2], day[3], day[4]
  flight.carrier = CARRIERS[1 + mostly_first(#CARRIERS)]
  flight.from = airports[1 + mostly_first(AIRPORTS)]
  flight.to = airports[1 + mostly_first(AIRPORTS)]
  flight.delay, flight.late15 = nil, nil
  if draw(50) > 0 then
    flight.delay = draw(4) > 0 and draw(21) - 10 or 11 + mostly_first(170)
    flight.late15 = flight.delay >= 15 and 1 or 0
  end
  return flight
end

local function clock(minutes)
  minutes = minutes % 1440
  return math.floor(minutes / 60) * 100 + minutes % 60
end

local values = {}

-- The values of row `number` of `count` as SQL writes them, in the order of the columns.
function rows.row(number, count)
  local f = rows.flight(number, count)
  local from, to, delay = f.from, f.to, f.delay
  local left, miles = 300 + draw(1100), 100 + draw(2400)
  local minutes, taxi_out, taxi_in = 30 + math.floor(miles / 8), 8 + draw(20), 3 + draw(10)
  local tail, flight_number = 100 + draw(4000), 1 + draw(7000)
  local late = delay or 0
  local arrives = math.max(-60, late + draw(31) - 15)
  local gone = delay and tostring or function() return "NULL" end
  local blamed = delay and arrives >= 15 and tostring or function() return "NULL" end
  local count_of_values = 0
  local function put(...)
    for place = 1, select("#", ...) do
      count_of_values = count_of_values + 1
      values[count_of_values] = (select(place, ...))
    end
  end
  put(f.year, math.floor((f.month + 2) / 3), f.month, f.day, f.weekday,
    ("'%d-%02d-%02d'"):format(f.year, f.month, f.day), "'" .. f.carrier .. "'",
    19000 + f.carrier:byte(1) * 10, "'" .. f.carrier .. "'", "'N" .. tail .. "'",
    "'" .. flight_number .. "'")
  for _, place in ipairs { from, to } do
    put(place.id, place.id * 100 + 1, place.market, "'" .. place.code .. "'",
      "'" .. place.city .. "'", "'" .. place.state .. "'", "'" .. place.fips .. "'",
      "'" .. place.name .. "'", place.wac)
  end
  local block = ("'%02d00-%02d59'"):format(math.floor(left / 60) % 24, math.floor(left / 60) % 24)
  put(clock(left), gone(clock(left + late)), gone(late), gone(math.max(0, late)),
    delay and f.late15 or "NULL", gone(math.floor(late / 15)), block, gone(taxi_out),
    gone(clock(left + late + taxi_out)), gone(clock(left + arrives + minutes)), gone(taxi_in),
    clock(left + minutes), gone(clock(left + arrives + minutes)), gone(arrives),
    gone(math.max(0, arrives)), gone(arrives >= 15 and 1 or 0), gone(math.floor(arrives / 15)),
    block, delay and 0 or 1, delay and "NULL" or "'B'", 0, minutes,
    gone(minutes + arrives - late), gone(minutes - taxi_out - taxi_in), 1, miles,
    math.floor(miles / 250) + 1, blamed(0), blamed(0), blamed(arrives), blamed(0), blamed(0),
    "NULL", "NULL", "NULL", 0)
  while count_of_values < #rows.COLUMNS do
    put("NULL")
  end
  return table.concat(values, ",", 1, count_of_values)
end

return rows
