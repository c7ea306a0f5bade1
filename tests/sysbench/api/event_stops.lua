-- run --events=10
function event(id)
  n = (n or 0) + 1
  if n == 4 then return 0 end
end
function thread_done() print("> n", n) end
