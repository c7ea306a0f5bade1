-- Updates of a column of a table with free space in its pages, or without.
sysbench.cmdline.options = {
   fillfactor = {"Of the table", 100},
   rows = {"Rows", 500000},
   indexed = {"Whether the column has an index", false},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL, " ..
      "note TEXT NOT NULL) WITH (fillfactor = " .. sysbench.opt.fillfactor .. ")")
   con:query("INSERT INTO account SELECT i, 0, repeat('n', 80) FROM generate_series(1, " ..
      sysbench.opt.rows .. ") i")
   if sysbench.opt.indexed then
      con:query("CREATE INDEX account_balance ON account (balance)")
   end
   con:query("VACUUM ANALYZE account")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   update = con:prepare("UPDATE account SET balance = balance + 1 WHERE id = $1")
   id = update:bind_create(sysbench.sql.type.INT)
   update:bind_param(id)
end

function event()
   id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   update:execute()
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS account")
end
