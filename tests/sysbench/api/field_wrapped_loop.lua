-- run --events=3
-- The default loop called from a function of the script's own in its place.
local loop = thread_run

function thread_run(tid)
  print("> begin", tid, type(loop))
  loop(tid)
  print("> end", tid)
end

function event() print("> event") end
