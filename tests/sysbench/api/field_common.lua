-- run --events=2 --tables=1 --table-size=50
-- sysbench's own common module with some of its functions replaced.
require("oltp_common")

function prepare_statements()
  prepare_begin()
  prepare_commit()
  prepare_point_selects()
end

local connect = thread_init
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS sbtest1")
  create_table(sysbench.sql.driver(), con, 1)
  con:disconnect()
  connect()
end

function event()
  begin()
  execute_point_selects()
  commit()
  print("> rows", con:query_row("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest1"))
end

function thread_done()
  con:query("DROP TABLE sbtest1")
  con:disconnect()
end
