-- run --events=3
-- Errors that a hook finds harmless, by their number or state; the event begins again.
local harmless = { [1062] = true, ["23505"] = true, ["42P01"] = true, [1146] = true }
local begun, seen = 0, {}

function sysbench.hooks.sql_error_ignorable(e)
  if e.sql_errno == 1146 or e.sql_state == "42P01" then
    seen[#seen + 1] = e.query
  end
  return harmless[e.sql_errno] or harmless[e.sql_state]
end

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS api_again")
end

function event()
  begun = begun + 1
  if begun == 1 then
    con:query("INSERT INTO api_again VALUES (1)")
  elseif begun == 2 then
    con:query("CREATE TABLE api_again (id INT PRIMARY KEY)")
    con:query("INSERT INTO api_again VALUES (7)")
  end
  con:query(("INSERT INTO api_again VALUES (%d)"):format(begun == 4 and 2 or begun))
  print("> stored", begun, con:query_row("SELECT COUNT(*) FROM api_again"), table.concat(seen, ";"))
end

function thread_done() con:query("DROP TABLE api_again") end
