-- Inserts into a table with none to several secondary indexes.
sysbench.cmdline.options = {
   indexes = {"Secondary indexes, 0 to 4", 0},
   rows = {"Rows that are there before", 100000},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE entry (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " ..
      "a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT NOT NULL)")
   con:query("SELECT setseed(0.5)")  -- the same rows in each cell and block
   con:query("INSERT INTO entry (a, b, c, d) SELECT r, r, r, r FROM (SELECT " ..
      "(random() * 1000000)::int r FROM generate_series(1, " .. sysbench.opt.rows .. ")) AS drawn")
   for i = 1, sysbench.opt.indexes do
      con:query("CREATE INDEX ON entry (" .. ("abcd"):sub(i, i) .. ")")
   end
   con:query("VACUUM ANALYZE entry")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   insert = con:prepare("INSERT INTO entry (a, b, c, d) VALUES ($1, $2, $3, $4)")
   values = {}
   for i = 1, 4 do values[i] = insert:bind_create(sysbench.sql.type.INT) end
   insert:bind_param(unpack(values))
end

function event()
   for i = 1, 4 do values[i]:set(sysbench.rand.uniform(1, 1000000)) end
   insert:execute()
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS entry")
end
