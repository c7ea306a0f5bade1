-- Orders by customer and orders that are changed, with attributes as columns or as one document.
sysbench.cmdline.options = {
   jsonb = {"Whether attributes are a document", false},
   rows = {"Orders", 50000},
   customers = {"Customers they belong to", 5000},
   writes = {"Updates in a hundred events", 20},
}

local COLUMNS = [[CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL,
   total INT NOT NULL, state TEXT NOT NULL, note TEXT NOT NULL)]]
local DOCUMENT = "CREATE TABLE orders (id INT PRIMARY KEY, body JSONB NOT NULL)"

function prepare()
   local con, opt = sysbench.sql.driver():connect(), sysbench.opt
   local customer = ("(i %% %d)"):format(opt.customers)
   con:query(opt.jsonb and DOCUMENT or COLUMNS)
   local values = opt.jsonb
      and "jsonb_build_object('customer', %s, 'total', i, 'state', 'new', 'note', repeat('n', 80))"
      or "%s, i, 'new', repeat('n', 80)"
   con:query(("INSERT INTO orders SELECT i, " .. values .. " FROM generate_series(1, %d) i")
      :format(customer, opt.rows))
   con:query(opt.jsonb and "CREATE INDEX ON orders (((body->>'customer')::int))"
      or "CREATE INDEX ON orders (customer)")
   con:query("VACUUM ANALYZE orders")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   read = sysbench.opt.jsonb
      and "SELECT sum((body->>'total')::int) FROM orders WHERE (body->>'customer')::int = %d"
      or "SELECT sum(total) FROM orders WHERE customer = %d"
   write = sysbench.opt.jsonb
      and "UPDATE orders SET body = jsonb_set(body, '{state}', '\"sent\"') WHERE id = %d"
      or "UPDATE orders SET state = 'sent' WHERE id = %d"
end

function event()
   if sysbench.rand.uniform(1, 100) <= sysbench.opt.writes then
      dbdyno.label("update")
      con:query(write:format(sysbench.rand.uniform(1, sysbench.opt.rows)))
   else
      dbdyno.label("read")
      con:query(read:format(sysbench.rand.uniform(0, sysbench.opt.customers - 1)))
   end
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS orders")
end
