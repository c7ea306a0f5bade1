-- Generated rows: joins of lists of ten digits, which every database supports without a table, a
-- sequence or recursion.

local digits = {}

-- A row count as a first digit and a number of zeros, rounded up.
function digits.rounded(name, rows, most)
  local first, zeros = math.ceil(rows), 0
  if first < 1 or first > most then
    error(("--%s=%s: expected a number from 1 to %d"):format(name, rows, most), 0)
  end
  while first > 9 do
    first, zeros = math.ceil(first / 10), zeros + 1
  end
  return first, zeros
end

local function list(count)
  local rows = {}
  for digit = 0, count - 1 do
    rows[digit + 1] = "SELECT " .. digit .. " AS d"
  end
  return table.concat(rows, " UNION ALL ")
end

-- SQL for a number n from 0, and a FROM that gives as many rows, each with another n.
function digits.rows(first, zeros)
  local number, from = {}, {}
  for place = 0, zeros do
    local name = "d" .. place
    number[place + 1] = ("%s.d * %d"):format(name, 10 ^ place)
    from[place + 1] = ("(%s) %s"):format(list(place == zeros and first or 10), name)
  end
  return "(" .. table.concat(number, " + ") .. ")", table.concat(from, " CROSS JOIN ")
end

return digits
