-- Tables and rows of `tpcc_like`: a wholesaler with warehouses, districts, customers and orders.

local sql = require("parts.sql")
local draw = require("parts.tpcc_draw")

local tables = {}

local uniform, random_text = sysbench.rand.uniform, sysbench.rand.string
local floor = math.floor

local ADDRESS = "street_1 VARCHAR(20), street_2 VARCHAR(20), city VARCHAR(20), state CHAR(2), "
  .. "zip CHAR(9)"

local DISTS = {}
for district = 1, 10 do
  DISTS[district] = ("dist_%02d CHAR(24)"):format(district)
end

-- In order of creation.
local COLUMNS = {
  { "tpcc_warehouse", "w_id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(10), " .. ADDRESS
    .. ", tax DECIMAL(4,4), ytd DECIMAL(14,2) NOT NULL" },
  { "tpcc_district", "w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, name VARCHAR(10), " .. ADDRESS
    .. ", tax DECIMAL(4,4), ytd DECIMAL(14,2) NOT NULL, next_o_id INTEGER NOT NULL, "
    .. "PRIMARY KEY (w_id, d_id)" },
  { "tpcc_customer", "w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, "
    .. "first VARCHAR(16), middle CHAR(2), last VARCHAR(16), " .. ADDRESS .. ", phone CHAR(16), "
    .. "since TIMESTAMP NULL, credit CHAR(2), credit_lim DECIMAL(12,2), discount DECIMAL(4,4), "
    .. "balance DECIMAL(14,2) NOT NULL, ytd_payment DECIMAL(14,2) NOT NULL, "
    .. "payment_cnt INTEGER NOT NULL, delivery_cnt INTEGER NOT NULL, data VARCHAR(500), "
    .. "PRIMARY KEY (w_id, d_id, c_id)" },
  { "tpcc_history", "c_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL, "
    .. "d_id INTEGER NOT NULL, w_id INTEGER NOT NULL, paid TIMESTAMP NULL, "
    .. "amount DECIMAL(8,2) NOT NULL, data VARCHAR(24)" },
  { "tpcc_orders", "w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, "
    .. "c_id INTEGER NOT NULL, entered TIMESTAMP NULL, carrier_id INTEGER, "
    .. "ol_cnt INTEGER NOT NULL, all_local INTEGER NOT NULL, PRIMARY KEY (w_id, d_id, o_id)" },
  { "tpcc_new_order", "w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, "
    .. "PRIMARY KEY (w_id, d_id, o_id)" },
  { "tpcc_order_line", "w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, "
    .. "number INTEGER NOT NULL, i_id INTEGER NOT NULL, supply_w_id INTEGER NOT NULL, "
    .. "delivered TIMESTAMP NULL, quantity INTEGER NOT NULL, amount DECIMAL(8,2) NOT NULL, "
    .. "dist_info CHAR(24), PRIMARY KEY (w_id, d_id, o_id, number)" },
  { "tpcc_item", "i_id INTEGER NOT NULL PRIMARY KEY, im_id INTEGER, name VARCHAR(24), "
    .. "price DECIMAL(5,2) NOT NULL, data VARCHAR(50)" },
  { "tpcc_stock", "w_id INTEGER NOT NULL, i_id INTEGER NOT NULL, quantity INTEGER NOT NULL, "
    .. table.concat(DISTS, ", ") .. ", ytd INTEGER NOT NULL, order_cnt INTEGER NOT NULL, "
    .. "remote_cnt INTEGER NOT NULL, data VARCHAR(50), PRIMARY KEY (w_id, i_id)" },
  -- Tells the other workers that the tables exist.
  { "tpcc_made", "w_id INTEGER NOT NULL PRIMARY KEY" },
}

tables.NAMES = {}
for place, table_ in ipairs(COLUMNS) do
  tables.NAMES[place] = table_[1]
end

local function address()
  return ("'%s', '%s', '%s', '%s', '%s'"):format(
    draw.letters(10, 20), draw.letters(10, 20), draw.letters(10, 20), random_text("@@"),
    random_text("####") .. "11111")
end

-- One text in ten contains the mark of an original brand.
local function goods()
  local text = draw.letters(26, 50)
  if uniform(1, 10) > 1 then
    return text
  end
  local place = uniform(1, #text - 8)
  return text:sub(1, place - 1) .. "ORIGINAL" .. text:sub(place + 8)
end

local function load_items(connection, items)
  sql.begin_rows(connection, "tpcc_item (i_id, im_id, name, price, data)")
  for item = 1, items do
    connection:bulk_insert_next(("(%d, %d, '%s', %.2f, '%s')"):format(
      item, uniform(1, 10000), draw.letters(14, 24), uniform(100, 10000) / 100, goods()))
  end
  connection:bulk_insert_done()
end

local function load_stock(connection, w, items)
  local names, info = {}, {}
  for district = 1, 10 do
    names[district] = ("dist_%02d"):format(district)
  end
  sql.begin_rows(connection, ("tpcc_stock (w_id, i_id, quantity, %s, ytd, order_cnt, remote_cnt, "
    .. "data)"):format(table.concat(names, ", ")), w)
  local pattern = ("@"):rep(24)
  for item = 1, items do
    for district = 1, 10 do
      info[district] = random_text(pattern)
    end
    connection:bulk_insert_next(("(%d, %d, %d, '%s', 0, 0, 0, '%s')"):format(
      w, item, uniform(10, 100), table.concat(info, "', '"), goods()))
  end
  connection:bulk_insert_done()
end

local function load_customers(connection, w, d, size)
  sql.begin_rows(connection, "tpcc_customer (w_id, d_id, c_id, first, middle, last, street_1, "
    .. "street_2, city, state, zip, phone, since, credit, credit_lim, discount, balance, "
    .. "ytd_payment, payment_cnt, delivery_cnt, data)", w * 16 + d)
  for c = 1, size.customers do
    local name = c <= size.names and c - 1 or draw.name_number(size)
    connection:bulk_insert_next((
      "(%d, %d, %d, '%s', 'AB', '%s', %s, '%s', '%s', '%s', 50000, %.4f, -10, 10, 1, 0, '%s')")
      :format(w, d, c, draw.letters(8, 16), draw.last_name(name), address(),
        random_text("################"), tables.MADE, uniform(1, 10) == 1 and "BC" or "GC",
        uniform(0, 5000) / 10000, draw.letters(300, 500)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "tpcc_history (c_id, c_d_id, c_w_id, d_id, w_id, paid, amount, data)",
    w * 16 + d)
  for c = 1, size.customers do
    connection:bulk_insert_next(("(%d, %d, %d, %d, %d, '%s', 10, '%s')"):format(
      c, d, w, d, w, tables.MADE, draw.letters(12, 24)))
  end
  connection:bulk_insert_done()
end

-- Number of lines of order `o`, derived from `o` so that it can be recomputed.
local function line_count(o)
  return 5 + (o * 7 + floor(o / 11)) % 11
end

local function load_lines(connection, w, d, size)
  sql.begin_rows(connection, "tpcc_order_line (w_id, d_id, o_id, number, i_id, supply_w_id, "
    .. "delivered, quantity, amount, dist_info)", w * 16 + d)
  local pattern = ("@"):rep(24)
  for o = 1, size.orders do
    local delivered = o <= size.delivered
    for number = 1, line_count(o) do
      connection:bulk_insert_next(("(%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s')"):format(
        w, d, o, number, uniform(1, size.items), w,
        delivered and "'" .. tables.MADE .. "'" or "NULL",
        delivered and 0 or uniform(1, 999999) / 100, random_text(pattern)))
    end
  end
  connection:bulk_insert_done()
end

-- Each customer has ordered once, in random order; the last three tenths await delivery.
local function load_orders(connection, w, d, size)
  local buyers = draw.permutation(size.orders, w * 16 + d)
  sql.begin_rows(connection, "tpcc_orders (w_id, d_id, o_id, c_id, entered, carrier_id, ol_cnt, "
    .. "all_local)", w * 16 + d)
  for o = 1, size.orders do
    connection:bulk_insert_next(("(%d, %d, %d, %d, '%s', %s, %d, 1)"):format(w, d, o, buyers[o],
      tables.MADE, o <= size.delivered and uniform(1, 10) or "NULL", line_count(o)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "tpcc_new_order (w_id, d_id, o_id)", w * 16 + d)
  for o = size.delivered + 1, size.orders do
    connection:bulk_insert_next(("(%d, %d, %d)"):format(w, d, o))
  end
  connection:bulk_insert_done()
  load_lines(connection, w, d, size)
end

-- The creation time of all rows: fixed, so that checksums are equal in every load.
tables.MADE = "2026-01-01 00:00:00"

local function load_warehouse(connection, w, size)
  sql.begin_rows(connection, "tpcc_warehouse (w_id, name, street_1, street_2, city, state, zip, "
    .. "tax, ytd)", w)
  connection:bulk_insert_next(("(%d, '%s', %s, %.4f, %d)"):format(
    w, draw.letters(6, 10), address(), uniform(0, 2000) / 10000, size.customers * 10 * 10))
  connection:bulk_insert_done()
  sql.begin_rows(connection, "tpcc_district (w_id, d_id, name, street_1, street_2, city, state, "
    .. "zip, tax, ytd, next_o_id)", w)
  for d = 1, 10 do
    connection:bulk_insert_next(("(%d, %d, '%s', %s, %.4f, %d, %d)"):format(w, d,
      draw.letters(6, 10), address(), uniform(0, 2000) / 10000, size.customers * 10,
      size.orders + 1))
  end
  connection:bulk_insert_done()
  load_stock(connection, w, size.items)
  for d = 1, 10 do
    load_customers(connection, w, d, size)
    load_orders(connection, w, d, size)
  end
end

function tables.prepare()
  local connection = sql.connect()
  local size = draw.size()
  if sysbench.tid % sysbench.opt.threads == 0 then
    for _, table_ in ipairs(COLUMNS) do
      sql.create_table(connection, table_[1], table_[2])
    end
    load_items(connection, size.items)
  else
    sql.await_table(connection, "tpcc_made")
  end
  for w in sql.share(sysbench.opt.warehouses) do
    load_warehouse(connection, w, size)
  end
  if sysbench.tid % sysbench.opt.threads == 0 then
    connection:query("CREATE INDEX tpcc_customer_name ON tpcc_customer (w_id, d_id, last, first)")
    connection:query("CREATE INDEX tpcc_orders_customer ON tpcc_orders (w_id, d_id, c_id, o_id)")
  end
end

function tables.cleanup()
  sql.drop_tables(sql.connect(), tables.NAMES)
end

return tables
