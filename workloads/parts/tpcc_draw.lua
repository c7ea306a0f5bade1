-- Random draws of `tpcc_like`: sizes, non-uniform numbers, names, texts.

local draw = {}

local uniform = sysbench.rand.uniform
local floor = math.floor

-- Sizes of a warehouse, divided by the option `reduction`. The range of the non-uniform numbers
-- (`*_mask`) is divided too, so that the same share of rows is hot.
function draw.size()
  local divisor = sysbench.opt.reduction
  local customers = math.max(30, floor(3000 / divisor))
  local bits = floor(math.log(divisor) / math.log(2) + 0.5)
  return {
    customers = customers,
    orders = customers,
    delivered = floor(customers * 0.7),
    items = math.max(100, floor(100000 / divisor)),
    -- Each last name occurs at least once, and only these are searched.
    names = math.min(1000, customers),
    customer_mask = 2 ^ math.max(4, 10 - bits) - 1,
    item_mask = 2 ^ math.max(4, 13 - bits) - 1,
    name_mask = 255,
  }
end

-- Constants that TPC-C draws once: for names those of load and run differ; the others are always
-- the same, so that all runs have the same hot rows.
local CUSTOMER_OFFSET, ITEM_OFFSET, NAME_OFFSET_LOADED, NAME_OFFSET = 259, 7911, 100, 180

-- A number from `low` to `high` with some more frequent than others: the bitwise OR of two draws.
local function non_uniform(mask, offset, low, high)
  return (bit.bor(uniform(0, mask), uniform(low, high)) + offset) % (high - low + 1) + low
end

function draw.customer(size)
  return non_uniform(size.customer_mask, CUSTOMER_OFFSET, 1, size.customers)
end

function draw.item(size)
  return non_uniform(size.item_mask, ITEM_OFFSET, 1, size.items)
end

-- The number of a last name: in `prepare`, and during a run.
function draw.name_number(size)
  local offset = sysbench.cmdline.command == "run" and NAME_OFFSET or NAME_OFFSET_LOADED
  return non_uniform(size.name_mask, offset, 0, size.names - 1)
end

local SYLLABLES = {
  "FEN", "MARSH", "WOOD", "OAK", "FORD", "ASH", "DALE", "BROOK", "HEATH", "MOOR",
}
local last_names = {}

-- Three syllables, one for each digit of a number below 1000.
function draw.last_name(number)
  local known = last_names[number]
  if not known then
    known = SYLLABLES[floor(number / 100) + 1] .. SYLLABLES[floor(number / 10) % 10 + 1]
      .. SYLLABLES[number % 10 + 1]
    last_names[number] = known
  end
  return known
end

local patterns = {}

-- This many random letters.
function draw.letters(least, most)
  local count = uniform(least, most)
  local pattern = patterns[count]
  if not pattern then
    pattern = ("@"):rep(count)
    patterns[count] = pattern
  end
  return sysbench.rand.string(pattern)
end

-- The numbers from 1 to `count` in a random order that depends only on `number`.
function draw.permutation(count, number)
  local order, state = {}, number * 2654435 % 2147483648 + 12345
  for place = 1, count do
    order[place] = place
  end
  for place = count, 2, -1 do
    state = (state * 1103515 + 12345) % 2147483648
    local other = floor(state / 65536) % place + 1
    order[place], order[other] = order[other], order[place]
  end
  return order
end

return draw
