-- Reads a counter and writes it back in one transaction, so that writers conflict.
sysbench.cmdline.options = {
   begin = {"BEGIN or BEGIN IMMEDIATE", "BEGIN"},
   rows = {"Counters", 10000},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
   con:bulk_insert_init("INSERT INTO counter (id, n) VALUES")
   for i = 1, sysbench.opt.rows do con:bulk_insert_next(("(%d, 0)"):format(i)) end
   con:bulk_insert_done()
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local id = sysbench.rand.uniform(1, sysbench.opt.rows)
   con:query(sysbench.opt.begin)
   local n = con:query_row("SELECT n FROM counter WHERE id = " .. id)
   con:query(("UPDATE counter SET n = %d WHERE id = %d"):format(n + 1, id))
   con:query("COMMIT")
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS counter")
end
