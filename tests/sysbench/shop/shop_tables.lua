-- Options, tables and rows of the shop: wholesale orders in the manner of TPC-C.

ffi = require("ffi")
ffi.cdef [[
void sb_counter_inc(int, sb_counter_type);
int usleep(unsigned int microseconds);
]]

if sysbench.cmdline.command == nil then
  error("Name a command: prepare, run, check or cleanup")
end

sysbench.cmdline.options = {
  warehouses = { "Warehouses", 2 },
  districts = { "Districts of a warehouse", 3 },
  customers = { "Customers of a district", 30 },
  items = { "Items that each warehouse has", 100 },
  isolation = { "Isolation level (RC, RR or SER)", "RC" },
  engine_options = { "What goes behind CREATE TABLE", "" },
}

TABLES = {
  { "warehouse", "w INT PRIMARY KEY, tax INT, paid BIGINT" },
  { "district", "w INT, d INT, tax INT, paid BIGINT, next_order INT, PRIMARY KEY (w, d)" },
  { "customer", "w INT, d INT, c INT, surname VARCHAR(16), forename VARCHAR(16), "
    .. "credit CHAR(2), discount INT, balance BIGINT, payments INT, deliveries INT, "
    .. "notes VARCHAR(250), PRIMARY KEY (w, d, c)" },
  { "payment", "w INT, d INT, c INT, amount BIGINT, paid_at TIMESTAMP" },
  { "purchase", "w INT, d INT, o INT, c INT, carrier INT NULL, line_count INT, "
    .. "PRIMARY KEY (w, d, o)" },
  { "waiting", "w INT, d INT, o INT, PRIMARY KEY (w, d, o)" },
  { "line", "w INT, d INT, o INT, n INT, item INT, quantity INT, amount BIGINT, "
    .. "delivered INT, PRIMARY KEY (w, d, o, n)" },
  { "item", "item INT PRIMARY KEY, name VARCHAR(24), price INT" },
  { "stock", "w INT, item INT, quantity INT, sold INT, info CHAR(24), PRIMARY KEY (w, item)" },
}

local SYLLABLES = { "ba", "ce", "di", "fo", "gu", "la", "me", "ni", "so", "tu" }

function surname(number)
  local hundreds, tens = math.floor(number / 100) % 10, math.floor(number / 10) % 10
  return SYLLABLES[hundreds + 1] .. SYLLABLES[tens + 1] .. SYLLABLES[number % 10 + 1]
end

-- A number that is not uniform: some customers and items are more popular than others.
function popular(mask, low, high)
  local drawn = bit.bor(sysbench.rand.uniform(0, mask), sysbench.rand.uniform(low, high))
  return drawn % (high - low + 1) + low
end

-- The numbers from 1 to `last` that are this client's.
function own_share(last)
  return sysbench.tid % sysbench.opt.threads + 1, last, sysbench.opt.threads
end

function connect()
  local drv = sysbench.sql.driver()
  return drv:connect(), drv:name()
end

local function create_tables(con, name)
  for _, definition in ipairs(TABLES) do
    local text = ("CREATE TABLE shop_%s (%s) %s"):format(
      definition[1], definition[2], sysbench.opt.engine_options)
    con:query(text)
  end
  con:query("CREATE INDEX shop_by_name ON shop_customer (w, d, surname, forename)")
  con:bulk_insert_init("INSERT INTO shop_item VALUES")
  for item = 1, sysbench.opt.items do
    con:bulk_insert_next(("(%d, '%s', %d)"):format(
      item, sysbench.rand.string("item-@@@@@-##"), sysbench.rand.uniform(100, 9999)))
  end
  con:bulk_insert_done()
  con:query("CREATE TABLE shop_created (a INT)")
  print("> tables created for " .. name)
end

-- The others wait until the first client has made the tables.
local function wait_for_tables(con, name)
  local folder = name == "pgsql" and "current_schema()" or "DATABASE()"
  local text = "SELECT table_name FROM information_schema.tables "
    .. "WHERE table_name = 'shop_created' AND table_schema = " .. folder
  repeat
    local rs = con:query(text)
    ffi.C.usleep(10000)
  until rs.nrows == 1
end

local function load_customers(con, w, d)
  con:bulk_insert_init("INSERT INTO shop_customer VALUES")
  for c = 1, sysbench.opt.customers do
    con:bulk_insert_next(("(%d, %d, %d, '%s', '%s', '%s', %d, -1000, 1, 0, '%s')"):format(
      w, d, c, surname(c <= 10 and c - 1 or popular(7, 0, 9)),
      sysbench.rand.string(("@"):rep(sysbench.rand.uniform(4, 12))),
      sysbench.rand.uniform(1, 100) > 10 and "GC" or "BC", sysbench.rand.uniform(0, 50),
      ("n"):rep(sysbench.rand.uniform(20, 200))))
  end
  con:bulk_insert_done()
  con:bulk_insert_init("INSERT INTO shop_payment VALUES")
  for c = 1, sysbench.opt.customers do
    con:bulk_insert_next(("(%d, %d, %d, 1000, NOW())"):format(w, d, c))
  end
  con:bulk_insert_done()
end

-- One order of each customer; the last third are not delivered.
local function load_orders(con, w, d)
  local count = sysbench.opt.customers
  local delivered = math.floor(count * 2 / 3)
  local line_counts = {}
  con:bulk_insert_init("INSERT INTO shop_purchase VALUES")
  for o = 1, count do
    line_counts[o] = 2 + o % 3
    con:bulk_insert_next(("(%d, %d, %d, %d, %s, %d)"):format(w, d, o, count - o + 1,
      o <= delivered and sysbench.rand.uniform(1, 10) or "NULL", line_counts[o]))
  end
  con:bulk_insert_done()
  con:bulk_insert_init("INSERT INTO shop_line VALUES")
  for o = 1, count do
    for n = 1, line_counts[o] do
      con:bulk_insert_next(("(%d, %d, %d, %d, %d, 5, %d, %d)"):format(w, d, o, n,
        sysbench.rand.uniform(1, sysbench.opt.items),
        o <= delivered and 0 or sysbench.rand.uniform(1, 999999), o <= delivered and 1 or 0))
    end
  end
  con:bulk_insert_done()
  con:query(("INSERT INTO shop_waiting SELECT w, d, o FROM shop_purchase "
    .. "WHERE o > %d AND w = %d AND d = %d"):format(delivered, w, d))
end

local function load_warehouse(con, w)
  local customers, districts = sysbench.opt.customers, sysbench.opt.districts
  con:query(("INSERT INTO shop_warehouse VALUES (%d, %d, %d)"):format(
    w, sysbench.rand.uniform(0, 20), 1000 * customers * districts))
  con:bulk_insert_init("INSERT INTO shop_stock VALUES")
  for item = 1, sysbench.opt.items do
    con:bulk_insert_next(("(%d, %d, %d, 0, '%s')"):format(
      w, item, sysbench.rand.uniform(10, 100), sysbench.rand.string(("@"):rep(24))))
  end
  con:bulk_insert_done()
  for d = 1, districts do
    con:query(("INSERT INTO shop_district VALUES (%d, %d, %d, %d, %d)"):format(
      w, d, sysbench.rand.uniform(0, 20), 1000 * customers, customers + 1))
    load_customers(con, w, d)
    load_orders(con, w, d)
  end
end

function cmd_prepare()
  local con, name = connect()
  if sysbench.tid % sysbench.opt.threads == 0 then
    create_tables(con, name)
  else
    wait_for_tables(con, name)
  end
  local first, last, step = own_share(sysbench.opt.warehouses)
  for w = first, last, step do
    print("> loading warehouse " .. w)
    load_warehouse(con, w)
  end
end

function cleanup()
  local con = connect()
  for _, definition in ipairs(TABLES) do
    con:query("DROP TABLE IF EXISTS shop_" .. definition[1])
  end
  con:query("DROP TABLE IF EXISTS shop_created")
  print("> tables dropped")
end
