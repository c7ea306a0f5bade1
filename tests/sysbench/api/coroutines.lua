-- run --events=2
-- Statements within a script's own coroutines, iterators and files.
local function numbers(last)
  return coroutine.wrap(function()
    for n = 1, last do
      coroutine.yield(con:query_row("SELECT " .. n .. " + 1"), n)
    end
  end)
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  for value, n in numbers(3) do
    print("> wrapped", n, value)
  end
  local made = coroutine.create(function(first)
    local second = coroutine.yield(con:query_row("SELECT " .. first))
    error("third " .. con:query_row("SELECT " .. second), 0)
  end)
  print("> resumed", coroutine.resume(made, 7))
  print("> status", coroutine.status(made))
  print("> failed", coroutine.resume(made, 8))
  print("> status", coroutine.status(made))
  print("> file", dofile("api_module_elsewhere.txt"))
end
