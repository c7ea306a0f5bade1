function thread_init() sysbench.sql.driver():connect():query("SELECT no_such_function(1)") end
function event() end
