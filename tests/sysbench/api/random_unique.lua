-- run --events=1
function event()
  local seen, count = {}, 0
  for i = 1, 5000 do
    local value = sysbench.rand.unique()
    if not seen[value] then
      count = count + 1
    end
    seen[value] = true
  end
  print("> distinct", count)
end
