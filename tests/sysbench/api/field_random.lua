-- run --events=1 --rand-type=pareto
-- Every generator by its range and type; `sysbench.rand` as people call it.
local function within(name, low, high, ...)
  local call, whole = sysbench.rand[name], true
  for _ = 1, 500 do
    local value = call(...)
    assert(value >= low and value <= high, name)
    whole = whole and value == math.floor(value)
  end
  print("> " .. name, whole, type(call(...)))
end

function event()
  for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto" } do
    within(name, 10, 20, 10, 20)
    within(name, 5, 5, 5, 5)
  end
  within("unique", 0, 2 ^ 32 - 1)
  within("uniform_double", 0, 1)
  print("> bits", type(sysbench.rand.uniform_uint64()))
  local text = sysbench.rand.string("###-@@@-#@-x")
  print("> pattern", text:match("^%d%d%d%-%a%a%a%-%d%a%-x$") ~= nil, #text)
  print("> old", sb_rand(1, 1), sb_rand_uniform(2, 2), sb_rand_str("x"), type(sb_rnd()))
  print("> empty", #sysbench.rand.string(""), tostring(pcall(sysbench.rand.string)))
end
