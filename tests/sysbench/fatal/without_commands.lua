function event() end
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE half (a INT") end
