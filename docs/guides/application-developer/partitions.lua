-- Queries by key on a table with partitions; each session's first query has a label of its own.
sysbench.cmdline.options = {
   partitions = {"Of the table; 0: none", 0},
   rows = {"Rows", 20000},
   session = {"Queries of a session", 20},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   local many = sysbench.opt.partitions
   con:query("CREATE TABLE page (id INT PRIMARY KEY, body TEXT NOT NULL)" ..
      (many > 0 and " PARTITION BY HASH (id)" or ""))
   for i = 0, many - 1 do
      con:query(("CREATE TABLE page_%d PARTITION OF page " ..
         "FOR VALUES WITH (MODULUS %d, REMAINDER %d)"):format(i, many, i))
   end
   con:query("INSERT INTO page SELECT i, repeat('x', 60) FROM generate_series(1, " ..
      sysbench.opt.rows .. ") i")
   con:query("VACUUM ANALYZE page")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   queries = 0
end

function event()
   if queries % sysbench.opt.session == 0 then
      con:reconnect()
      dbdyno.label("first")
   else
      dbdyno.label("later")
   end
   queries = queries + 1
   con:query("SELECT body FROM page WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.rows))
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS page")
end
