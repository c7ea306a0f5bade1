-- run --events=1
-- A script that watches its undeclared globals and looks through all of them.
local count = 0
for name in pairs(_G) do count = count + (type(name) == "string" and 1 or 0) end
print("> globals", count > 60, getmetatable(_G), getmetatable(sysbench), rawequal(_G._G, _G))

setmetatable(_G, {
  __index = function(_, name)
    if name:match("^undeclared") then error("undeclared " .. name, 2) end
  end,
})

function event()
  print("> strict", pcall(function() return undeclared_name end))
  print("> still", type(print), type(string.format), type(sysbench.rand.uniform))
  local list = {}
  for name in pairs(sysbench.sql) do list[#list + 1] = name end
  table.sort(list)
  print("> sql", table.concat(list, " "))
end
