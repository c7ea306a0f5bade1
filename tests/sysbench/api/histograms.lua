-- run --events=1
function event()
  local h = sysbench.histogram.new(10, 1, 100)
  for i = 1, 100 do h:update(i) end
  h:print()
end
