function thread_init() d = sysbench.sql.driver("foo") end function event() end
