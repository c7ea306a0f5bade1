-- Whole numbers in text, exactly: a Lua number holds every integer only up to 2^53.

local ffi = ...

local LARGEST = "18446744073709551615"
local SCIENTIFIC = "^%s*([+-]?)(%d*)%.?(%d*)[eE]([+-]?%d+)%s*$"
local WITH_POINT = "^(%s*[+-]?%d+)%.0*%s*$"
local CUT_OFF = "^(%s*[+-]?%d+)%.%d*%s*$"

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

-- A decimal number with an exponent (`9.25e1`) written without (`92.5`). nil: the text has no
-- exponent, or the number has far more than 64 bits.
local function without_exponent(text)
  local sign, whole, fraction, exponent = text:match(SCIENTIFIC)
  local digits = sign and whole .. fraction or ""
  if digits == "" then
    return nil
  end
  local point, zeros = #whole + tonumber(exponent), #digits:match("^0*")
  if zeros == #digits then
    return sign .. "0"
  elseif point <= zeros then
    -- Below 1, however small.
    return sign .. "0.1"
  elseif point > zeros + #LARGEST then
    return nil
  end
  local rest = digits:sub(point + 1):gsub("0+$", "")
  digits = (digits .. ("0"):rep(point - #digits)):sub(1, point)
  return sign .. digits .. (rest == "" and "" or "." .. rest)
end

local MOST_NEGATIVE = 0x8000000000000000ULL

-- The integer that a text is, decimal or with 0x: a Lua number where it holds it exactly, otherwise
-- one of FFI's 64-bit integers. nil: it isn't an integer, or has more bits. Digits alone give FFI's
-- from 2^53 on; with a point or an exponent, as floating-point numbers are written, a text gives
-- FFI's only where a Lua number would differ.
local function integer_in(text)
  local plain = without_exponent(text) or text:match(WITH_POINT)
  text = plain or text
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
  local holds = math.abs(number) < 2 ^ 53
    or plain and number < 2 ^ 64 and ffi.cast(ffi.typeof(exact), number) == exact
  return holds and number or exact
end

-- The same of any decimal number: its digits after the point are cut off, as those of a Lua number
-- are.
local function whole_in(text)
  return integer_in(text) or integer_in((without_exponent(text) or text):match(CUT_OFF) or "")
end

return integer_in, whole_in
