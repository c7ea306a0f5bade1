-- Whole numbers in text, exactly: a Lua number holds every integer only up to 2^53.

local ffi = ...

local LARGEST, SMALLEST = "18446744073709551615", "9223372036854775808"

-- The integer that a text is: a Lua number where it holds it exactly, otherwise one of FFI's 64-bit
-- integers. nil: it isn't one, or has more bits.
local function integer_in(text)
  local sign, digits = text:match("^%s*([+-]?)0*(%d+)%s*$")
  if not digits then
    return nil
  end
  local most = sign == "-" and SMALLEST or LARGEST
  if #digits > #most or #digits == #most and digits > most then
    return nil
  end
  local exact = 0ULL
  for digit in digits:gmatch("%d") do
    exact = exact * 10 + tonumber(digit)
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
