-- run --events=1
function event()
  for _, name in ipairs { "default", "uniform", "gaussian", "pareto", "special" } do
    local low, high = 1e9, 0
    for i = 1, 2000 do
      local value = sysbench.rand[name](5, 25)
      assert(value == math.floor(value))
      low, high = math.min(low, value), math.max(high, value)
    end
    print("> within", name, low >= 5, high <= 25)
  end
  local double = sysbench.rand.uniform_double()
  print("> double", double >= 0 and double < 1)
  print("> cdata", type(sysbench.rand.uniform_uint64()))
end
