function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("SELECT 1")
  con:query("SELECT * FROM nowhere")
end
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE half (a INT") end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE nowhere") end
sysbench.cmdline.commands = {
  own = { function() sysbench.sql.driver():connect():query("SELECT nothing FROM nowhere") end },
}
