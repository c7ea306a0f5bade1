function thread_init() con = sysbench.sql.driver():connect() end
function event() pcall(con.query, con, "SELECT * FROM nowhere") end
