-- A statement that fails within a transaction: caught by the script, which goes on in it, or left
-- to the error policy, which restarts the event. Prints the rows that are kept.

sysbench.cmdline.options = { catch = { "Whether the script catches the error", true } }

local function count(con)
  local found = con:query("SELECT id FROM caught ORDER BY id")
  local ids = {}
  for _ = 1, found.nrows do ids[#ids + 1] = found:fetch_row()[1] end
  print("rows " .. table.concat(ids, " "))
end

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS caught")
  con:query("CREATE TABLE caught (id INT PRIMARY KEY)")
  attempt = 0
end

function event()
  attempt = attempt + 1
  con:query("BEGIN")
  con:query("INSERT INTO caught VALUES (" .. attempt .. ")")
  if sysbench.opt.catch then
    local fine, why = pcall(con.query, con, "INSERT INTO caught VALUES (1)")
    print("caught " .. tostring(fine) .. " " .. tostring(type(why) == "table" and why.errcode))
    con:query("INSERT INTO caught VALUES (5)")
  elseif attempt == 1 then
    con:query("INSERT INTO caught VALUES (1)")
  end
  con:query("COMMIT")
end

function thread_done()
  count(con)
end
