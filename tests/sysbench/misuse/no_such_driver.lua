function thread_init() d = sysbench.sql.driver() end function event() end
