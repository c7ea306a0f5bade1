-- run --events=1
function event()
  print("> lua", table.getn { 1, 2 }, unpack { 3, 4 })
  print("> bits", bit.band(6, 3), type(newproxy()), type(jit), _VERSION)
  print("> env", type(setfenv), type(loadstring("return 1")), pcall(error, "x"))
end
