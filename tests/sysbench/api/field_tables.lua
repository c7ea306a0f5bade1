-- run --events=4 --threads=2
-- Tables of each client's own, objects, varargs, formats, and globals that stay apart.
local Account = {}
Account.__index = Account
setmetatable(Account, { __call = function(class, id) return setmetatable({ id = id }, class) end })
function Account:name() return ("account_%03d"):format(self.id) end
Account.__tostring = function(self) return "<" .. self:name() .. ">" end

counter = 0

function thread_init(tid)
  con = sysbench.sql.driver():connect()
  mine = "api_own_" .. tid
  account = Account(tid)
  con:query("DROP TABLE IF EXISTS " .. mine)
  con:query(string.format("CREATE TABLE %s (id INT PRIMARY KEY, v %s)", mine, "VARCHAR(30)"))
  print("> mine", tid, tostring(account), getmetatable(account) == Account, counter)
end

function event(tid)
  counter = counter + 1
  con:query(([[INSERT INTO %s (id, v) VALUES (%d, '%-10s|%5.2f|%x|%q')]]):format(mine, counter,
    account:name(), counter / 3, 255, "q"))
  local count, v = con:query_row("SELECT COUNT(*), MAX(v) FROM " .. mine)
  assert(tonumber(count) == counter and sysbench.tid == tid and thread_id == tid, count)
  local expected = ("%-10s|%5.2f|%x|%q"):format(account:name(), counter / 3, 255, "q")
  assert(counter > 1 or v == expected, v)
end

function thread_done()
  con:query("DROP TABLE " .. mine)
end
