-- Updates of rows all over a table: the first change of a page after a checkpoint logs all of it.
sysbench.cmdline.options = {
   rows = {"Rows of some 200 bytes", 200000},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL, note TEXT NOT NULL)")
   con:query("INSERT INTO item SELECT i, 0, repeat(md5(i::text), 5) FROM generate_series(1, " ..
      sysbench.opt.rows .. ") i")
   con:query("VACUUM ANALYZE item")
   con:query("CHECKPOINT")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   update = con:prepare("UPDATE item SET n = n + 1 WHERE id = $1")
   id = update:bind_create(sysbench.sql.type.INT)
   update:bind_param(id)
end

function event()
   id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   update:execute()
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS item")
end
