-- YCSB's distributions: which record, how many, how long.
--
-- The algorithms are those YCSB publishes in `site.ycsb.generator`; zipfian numbers are drawn as in
-- Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994.

local ffi = require("ffi")

local draw = {}

local unit = sysbench.rand.uniform_double
local floor, log, min = math.floor, math.log, math.min

local THETA = 0.99
-- YCSB scrambles numbers of this range, whose ζ it has precomputed.
local SCRAMBLED, SCRAMBLED_ZETA = 1e10, 26.46902820178302

-- A whole number from `low` to `high`, each as likely.
local function uniform(low, high)
  return low + min(floor(unit() * (high - low + 1)), high - low)
end

draw.uniform = uniform

local function hash(number)
  local hashed, left = 0xCBF29CE484222325ULL, ffi.cast("uint64_t", number)
  for _ = 1, 8 do
    hashed = bit.bxor(hashed, left % 256ULL) * 1099511628211ULL
    left = left / 256ULL
  end
  local signed = ffi.cast("int64_t", hashed)
  return signed < 0 and -signed or signed
end

-- The sum of i^-θ for i from 1 to n: a hundred terms, then Euler's and Maclaurin's formula, whose
-- error is below 1e-9.
local function zeta(n)
  local sum, first = 0, min(n, 100)
  for i = 1, first do
    sum = sum + i ^ -THETA
  end
  if n <= first then
    return sum
  end
  return sum + (n ^ (1 - THETA) - first ^ (1 - THETA)) / (1 - THETA)
    + (n ^ -THETA - first ^ -THETA) / 2
    + THETA / 12 * (first ^ (-THETA - 1) - n ^ (-THETA - 1))
end

-- A function that draws 0 to items - 1, the lower the likelier. Its argument, if any, is how many
-- items there are by now.
local function zipfian(items, zeta_n)
  local known = items
  zeta_n = zeta_n or zeta(items)
  local zeta_2, power = zeta(2), 1 / (1 - THETA)
  local function slope()
    return (1 - (2 / items) ^ (1 - THETA)) / (1 - zeta_2 / zeta_n)
  end
  local eta = slope()
  return function(grown)
    if grown and grown > known then
      known, zeta_n = grown, zeta(grown)
      eta = slope()
    end
    local u = unit()
    local weighed = u * zeta_n
    if weighed < 1 then
      return 0
    elseif weighed < 1 + 0.5 ^ THETA then
      return 1
    end
    return floor((grown or items) * (eta * u - eta + 1) ^ power)
  end
end

-- A function that draws from `low` to `high` by one of YCSB's names.
function draw.between(distribution, low, high)
  if distribution == "constant" then
    return function() return high end
  elseif distribution == "uniform" then
    return function() return uniform(low, high) end
  end
  local of = zipfian(high - low + 1)
  return function() return low + of() end
end

-- A function that draws a record's number. `last()` is the number of the last one that there is.
function draw.record(found, last)
  local low = found.insertstart
  local high = low + found.insertcount - 1
  local kinds = {}

  function kinds.uniform() return uniform(low, high) end

  local turn = 0
  function kinds.sequential()
    turn = turn + 1
    return low + (sysbench.tid + (turn - 1) * sysbench.opt.threads) % (high - low + 1)
  end

  function kinds.hotspot()
    local hot = floor((high - low + 1) * found.hotspotdatafraction)
    if hot > 0 and (hot > high - low or unit() < found.hotspotopnfraction) then
      return uniform(low, low + hot - 1)
    end
    return uniform(low + hot, high)
  end

  local gamma = -log(1 - found.exponential_percentile / 100)
    / (found.recordcount * found.exponential_frac)
  function kinds.exponential()
    return last() - floor(-log(1 - unit()) / gamma)
  end

  local kind = found.requestdistribution
  if kind == "zipfian" then
    local more = floor(found.operationcount * found.insertproportion * 2)
    local items, of = found.insertcount + more + 1, zipfian(SCRAMBLED + 1, SCRAMBLED_ZETA)
    function kinds.zipfian() return low + tonumber(hash(of()) % items) end
  elseif kind == "latest" then
    local of = zipfian(found.recordcount - 1)
    function kinds.latest() return last() - of(last()) end
  end

  local drawn = kinds[kind]
  return function()
    local number
    repeat
      number = drawn()
    until number >= 0 and number <= last()
    return number
  end
end

-- The key of a record: hashed so that neighbours are far apart, or in order.
function draw.key(number, found)
  local digits
  if found.insertorder == "ordered" then
    digits = ("%d"):format(number)
  else
    digits = tostring(hash(number)):match("%d+")
  end
  return "user" .. ("0"):rep(found.zeropadding - #digits) .. digits
end

return draw
