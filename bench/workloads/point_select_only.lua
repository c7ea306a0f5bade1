-- Debian's point select with nothing in the event but the statement: what the engine itself takes
-- beside a raw loop. Each client asks for a row of its own.

local statement

function thread_init(client)
  local connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT c FROM sbtest1 WHERE id = ?")
  local id = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(id)
  id:set(client + 1)
end

function event()
  statement:execute()
end
