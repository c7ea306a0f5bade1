function event() sysbench.sql.driver():connect():prepare("SELECT a FROM nowhere WHERE a = ?") end
