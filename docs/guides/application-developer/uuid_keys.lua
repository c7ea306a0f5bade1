-- Inserts into a table whose primary key the server makes.
sysbench.cmdline.options = {
   key = {"bigint, v4 or v7", "bigint"},
   rows = {"Rows that are there before", 200000},
   batch = {"Rows of an insert", 10},
}

local COLUMN = {
   bigint = "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
   v4 = "id UUID DEFAULT gen_random_uuid() PRIMARY KEY",
   v7 = "id UUID DEFAULT uuidv7() PRIMARY KEY",
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE note (" .. COLUMN[sysbench.opt.key] .. ", body TEXT NOT NULL)")
   con:query("INSERT INTO note (body) SELECT repeat('x', 80) FROM generate_series(1, " ..
      sysbench.opt.rows .. ")")
   con:query("VACUUM ANALYZE note")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   local rows = {}
   for i = 1, sysbench.opt.batch do rows[i] = "(repeat('x', 80))" end
   statement = "INSERT INTO note (body) VALUES " .. table.concat(rows, ",")
end

function event()
   con:query(statement)
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS note")
end
