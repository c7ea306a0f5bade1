-- What a point select's event does besides the statement, and the string of an update: one random
-- id and 59 characters by a pattern.

function event()
  local id = sysbench.rand.default(1, 1000000)
  local text = sysbench.rand.string("###########-###########-###########-###########-###########")
  assert(id and text)
end
