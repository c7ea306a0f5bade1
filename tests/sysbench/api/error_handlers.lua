-- run --events=1
-- Handlers of xpcall that execute statements, as a transaction's would.
sysbench.cmdline.options = {}

local function why(value)
  return (tostring(value):gsub("^.*/", ""):gsub("^(%S+:%d+:).*$", "%1"))
end

local function failing(n)
  con:query("BEGIN")
  con:query("INSERT INTO api_handlers VALUES (" .. n .. ")")
  con:query("INSERT INTO api_nowhere VALUES (1)")
  con:query("COMMIT")
end

local function count()
  return con:query_row("SELECT count(*) FROM api_handlers")
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("DROP TABLE IF EXISTS api_handlers")
  con:query("CREATE TABLE api_handlers (a INT)")
  print("> rolled back", xpcall(failing, function(e) con:query("ROLLBACK") return why(e) end, 1))
  con:query("COMMIT")
  print("> kept", count())

  print("> results", select("#", xpcall(function() end, print)), xpcall(function(...)
    return con:query_row("SELECT 7"), ...
  end, print, nil, 8))
  print("> plain", xpcall(error, function(e) return type(e), "second is dropped" end, { 1 }))
  print("> nothing", xpcall(error, function() end, "x"))
  print("> false", xpcall(error, function() return false end, "x"))
  print("> failed handler", xpcall(error, function() error("again") end, "x"))
  print("> inner pcall", xpcall(error, function()
    return pcall(con.query, con, "SELECT no_such_column") and "fine" or "caught"
  end, "x"))
  print("> no handler", pcall(xpcall, print), pcall(xpcall, print, 5))
  print("> kept", count())

  local function deep() local nobody = nil; return nobody.field end
  local function outside() deep() return 1 end
  local _, trace = xpcall(outside, debug.traceback)
  print("> traceback", trace:match("in function 'deep'") ~= nil or trace:match("'deep'") ~= nil,
    trace:match("stack traceback:") ~= nil, trace:match("'nobody'") ~= nil)
  _, trace = xpcall(outside, function(e)
    con:query("ROLLBACK")
    return "told: " .. debug.traceback(e, 2)
  end)
  print("> own traceback", trace:sub(1, 5), trace:match("'deep'") ~= nil)
  print("> later", debug.traceback("x"):match("'deep'"), debug.traceback(nil))

  con:query("ROLLBACK")
  print("> kept", count())
  con:query("DROP TABLE api_handlers")
end
