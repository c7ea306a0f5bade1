-- Whole numbers in text, exactly: a Lua number holds every integer only up to 2^53.

local ffi = ...

local LARGEST = "18446744073709551615"

-- The digits of an integer as an unsigned one. nil: they have more bits.
local function hexadecimal(digits)
  if #digits > 16 then
    return nil
  end
  local exact = 0ULL
  for digit in digits:gmatch("%x") do
    exact = exact * 16 + tonumber(digit, 16)
  end
  return exact
end

local function decimal(digits)
  if #digits > #LARGEST or #digits == #LARGEST and digits > LARGEST then
    return nil
  end
  local exact = 0ULL
  for digit in digits:gmatch("%d") do
    exact = exact * 10 + tonumber(digit)
  end
  return exact
end

local MOST_NEGATIVE = 0x8000000000000000ULL

-- The integer that a text is, decimal or with 0x: a Lua number where it holds it exactly, otherwise
-- one of FFI's 64-bit integers. nil: it isn't one, or has more bits.
local function integer_in(text)
  local sign, digits = text:match("^%s*([+-]?)0[xX]0*(%x+)%s*$")
  local read = hexadecimal
  if not digits then
    sign, digits = text:match("^%s*([+-]?)0*(%d+)%s*$")
    read = decimal
  end
  local exact = digits and read(digits)
  if not exact or sign == "-" and exact > MOST_NEGATIVE then
    return nil
  end
  if sign == "-" then
    exact = -ffi.cast("int64_t", exact)
  elseif exact <= 0x7fffffffffffffffULL then
    exact = ffi.cast("int64_t", exact)
  end
  local number = tonumber(exact)
  return math.abs(number) < 2 ^ 53 and number or exact
end

return integer_in
