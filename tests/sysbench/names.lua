-- Every name that a script can find, with its type.
local inside = { [package] = true }

local function walk(path, of)
  if inside[of] then return end
  inside[of] = true
  for name, value in pairs(of) do
    local at = path .. "." .. tostring(name)
    print("> " .. at .. " " .. type(value))
    if type(value) == "table" then walk(at, value) end
  end
  inside[of] = nil
end

function thread_init() walk("_G", _G) end
function event() end
