-- The five transactions of `tpcc_like`, and the choice of the next.

local sql = require("parts.sql")
local draw = require("parts.tpcc_draw")

local uniform, floor, tonumber = sysbench.rand.uniform, math.floor, tonumber
local statement, row = sql.statement, sql.row

local INTEGER, DOUBLE = sql.INTEGER, sql.DOUBLE
local NAME, DATA = sql.text(16), sql.text(500)
local OF_DISTRICT, OF_ORDER = " WHERE w_id = ? AND d_id = ?", " WHERE w_id = ? AND d_id = ? "
  .. "AND o_id = ?"
local OF_CUSTOMER = OF_DISTRICT .. " AND c_id = ?"

local transactions = {}

-- This client's statements by name, its sizes and its state.
local run, size, opt, home, own_district = {}, nil, nil, nil, nil

local function prepare_new_order(connection)
  local lock = sql.for_update()
  run.buyer = statement(connection, "SELECT c.discount, c.last, c.credit, w.tax FROM "
    .. "tpcc_customer c JOIN tpcc_warehouse w ON w.w_id = c.w_id "
    .. "WHERE c.w_id = ? AND c.d_id = ? AND c.c_id = ?", INTEGER, INTEGER, INTEGER)
  run.next_order = statement(connection, "SELECT next_o_id, tax FROM tpcc_district" .. OF_DISTRICT
    .. lock, INTEGER, INTEGER)
  run.count_order = statement(connection, "UPDATE tpcc_district SET next_o_id = next_o_id + 1"
    .. OF_DISTRICT, INTEGER, INTEGER)
  run.add_order = statement(connection, "INSERT INTO tpcc_orders (w_id, d_id, o_id, c_id, "
    .. "entered, ol_cnt, all_local) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
    INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER)
  run.add_waiting = statement(connection, "INSERT INTO tpcc_new_order (w_id, d_id, o_id) "
    .. "VALUES (?, ?, ?)", INTEGER, INTEGER, INTEGER)
  run.item = statement(connection, "SELECT price, name, data FROM tpcc_item WHERE i_id = ?",
    INTEGER)
  -- One statement per district: its stock column is copied into the line.
  run.stock = {}
  for d = 1, 10 do
    run.stock[d] = statement(connection, ("SELECT quantity, data, dist_%02d FROM tpcc_stock "
      .. "WHERE w_id = ? AND i_id = ?%s"):format(d, lock), INTEGER, INTEGER)
  end
  run.take = statement(connection, "UPDATE tpcc_stock SET quantity = ?, ytd = ytd + ?, "
    .. "order_cnt = order_cnt + 1, remote_cnt = remote_cnt + ? WHERE w_id = ? AND i_id = ?",
    INTEGER, INTEGER, INTEGER, INTEGER, INTEGER)
  run.add_line = statement(connection, "INSERT INTO tpcc_order_line (w_id, d_id, o_id, number, "
    .. "i_id, supply_w_id, quantity, amount, dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE, sql.text(24))
end

local function prepare_payment(connection)
  run.pay_warehouse = statement(connection, "UPDATE tpcc_warehouse SET ytd = ytd + ? "
    .. "WHERE w_id = ?", DOUBLE, INTEGER)
  run.warehouse = statement(connection, "SELECT name, street_1, street_2, city, state, zip "
    .. "FROM tpcc_warehouse WHERE w_id = ?", INTEGER)
  run.pay_district = statement(connection, "UPDATE tpcc_district SET ytd = ytd + ?"
    .. OF_DISTRICT, DOUBLE, INTEGER, INTEGER)
  run.district = statement(connection, "SELECT name, street_1, street_2, city, state, zip "
    .. "FROM tpcc_district" .. OF_DISTRICT, INTEGER, INTEGER)
  run.payer = statement(connection, "SELECT first, middle, last, street_1, street_2, city, state, "
    .. "zip, phone, since, credit_lim, discount, balance, credit FROM tpcc_customer"
    .. OF_CUSTOMER .. sql.for_update(), INTEGER, INTEGER, INTEGER)
  run.pay = statement(connection, "UPDATE tpcc_customer SET balance = balance - ?, "
    .. "ytd_payment = ytd_payment + ?, payment_cnt = payment_cnt + 1" .. OF_CUSTOMER,
    DOUBLE, DOUBLE, INTEGER, INTEGER, INTEGER)
  run.notes = statement(connection, "SELECT data FROM tpcc_customer" .. OF_CUSTOMER,
    INTEGER, INTEGER, INTEGER)
  run.pay_with_notes = statement(connection, "UPDATE tpcc_customer SET balance = balance - ?, "
    .. "ytd_payment = ytd_payment + ?, payment_cnt = payment_cnt + 1, data = ?" .. OF_CUSTOMER,
    DOUBLE, DOUBLE, DATA, INTEGER, INTEGER, INTEGER)
  run.add_history = statement(connection, "INSERT INTO tpcc_history (c_id, c_d_id, c_w_id, d_id, "
    .. "w_id, paid, amount, data) VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
    INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE, sql.text(24))
end

local function prepare_delivery(connection)
  run.oldest = statement(connection, "SELECT o_id FROM tpcc_new_order" .. OF_DISTRICT
    .. " ORDER BY o_id LIMIT 1" .. sql.for_update(), INTEGER, INTEGER)
  run.no_longer_waits = statement(connection, "DELETE FROM tpcc_new_order" .. OF_ORDER,
    INTEGER, INTEGER, INTEGER)
  run.carry = statement(connection, "UPDATE tpcc_orders SET carrier_id = ?" .. OF_ORDER,
    INTEGER, INTEGER, INTEGER, INTEGER)
  run.buyer_of = statement(connection, "SELECT c_id FROM tpcc_orders" .. OF_ORDER,
    INTEGER, INTEGER, INTEGER)
  run.deliver_lines = statement(connection, "UPDATE tpcc_order_line SET delivered = "
    .. "CURRENT_TIMESTAMP" .. OF_ORDER, INTEGER, INTEGER, INTEGER)
  run.amount_of = statement(connection, "SELECT SUM(amount) FROM tpcc_order_line" .. OF_ORDER,
    INTEGER, INTEGER, INTEGER)
  run.charge = statement(connection, "UPDATE tpcc_customer SET balance = balance + ?, "
    .. "delivery_cnt = delivery_cnt + 1" .. OF_CUSTOMER, DOUBLE, INTEGER, INTEGER, INTEGER)
end

local function prepare_questions(connection)
  run.namesakes = statement(connection, "SELECT c_id FROM tpcc_customer" .. OF_DISTRICT
    .. " AND last = ? ORDER BY first", INTEGER, INTEGER, NAME)
  run.customer = statement(connection, "SELECT balance, first, middle, last FROM tpcc_customer"
    .. OF_CUSTOMER, INTEGER, INTEGER, INTEGER)
  run.last_order = statement(connection, "SELECT o_id, entered, carrier_id FROM tpcc_orders"
    .. OF_CUSTOMER .. " ORDER BY o_id DESC LIMIT 1", INTEGER, INTEGER, INTEGER)
  run.lines = statement(connection, "SELECT i_id, supply_w_id, quantity, amount, delivered "
    .. "FROM tpcc_order_line" .. OF_ORDER, INTEGER, INTEGER, INTEGER)
  run.next_id = statement(connection, "SELECT next_o_id FROM tpcc_district" .. OF_DISTRICT,
    INTEGER, INTEGER)
  run.scarce = statement(connection, "SELECT COUNT(DISTINCT s.i_id) FROM tpcc_order_line l "
    .. "JOIN tpcc_stock s ON s.w_id = l.w_id AND s.i_id = l.i_id WHERE l.w_id = ? AND l.d_id = ? "
    .. "AND l.o_id >= ? AND l.o_id < ? AND s.quantity < ?",
    INTEGER, INTEGER, INTEGER, INTEGER, INTEGER)
end

function transactions.connect()
  local connection = sql.connect()
  opt, size = sysbench.opt, draw.size()
  home = sysbench.tid % opt.warehouses + 1
  own_district = floor(sysbench.tid / opt.warehouses) % 10 + 1
  run.begin = statement(connection, sql.begin())
  run.look = statement(connection, "BEGIN")
  run.commit = statement(connection, "COMMIT")
  run.give_up = statement(connection, "ROLLBACK")
  prepare_new_order(connection)
  prepare_payment(connection)
  prepare_delivery(connection)
  prepare_questions(connection)
end

local function warehouse()
  return opt.home == "fixed" and home or uniform(1, opt.warehouses)
end

-- A warehouse other than `w`, if there is one.
local function another(w)
  if opt.warehouses == 1 then
    return w
  end
  local other = uniform(1, opt.warehouses - 1)
  return other < w and other or other + 1
end

-- Three in five customers are selected by name: of those who share it, the middle one.
local function customer(w, d)
  if uniform(1, 100) > 60 then
    return draw.customer(size)
  end
  local found = run.namesakes(w, d, draw.last_name(draw.name_number(size)))
  for _ = 1, floor((found.nrows - 1) / 2) do
    found:fetch_row()
  end
  return tonumber((row(found)))
end

-- Items of the current order, sorted by number so that two orders never deadlock on stock; reused
-- for every order.
local items, suppliers = {}, {}

local function choose_items(w, count)
  local all_local = 1
  for place = 1, count do
    local item, supplier = draw.item(size), w
    if uniform(1, 100) == 1 then
      supplier = another(w)
      all_local = supplier == w and all_local or 0
    end
    local free = place
    while free > 1 and (items[free - 1] > item
        or items[free - 1] == item and suppliers[free - 1] > supplier) do
      items[free], suppliers[free] = items[free - 1], suppliers[free - 1]
      free = free - 1
    end
    items[free], suppliers[free] = item, supplier
  end
  return all_local
end

-- One line of an order; false if there is no such item.
local function order_line(w, d, o, number)
  local item, supplier = items[number], suppliers[number]
  local price = row(run.item(item))
  if not price then
    return false
  end
  local ordered = uniform(1, 10)
  local quantity, _, info = row(run.stock[d](supplier, item))
  local left = tonumber(quantity) - ordered
  run.take(left >= 10 and left or left + 91, ordered, supplier == w and 0 or 1, supplier, item)
  run.add_line(w, d, o, number, item, supplier, ordered, ordered * tonumber(price), info)
  return true
end

function transactions.new_order()
  local w, d, c = warehouse(), uniform(1, 10), draw.customer(size)
  local count = uniform(5, 15)
  local all_local = choose_items(w, count)
  -- One order in a hundred asks for an unknown item and is rolled back.
  if uniform(1, 100) == 1 then
    items[count] = size.items + 1
  end
  run.begin()
  run.buyer(w, d, c)
  local o = tonumber((row(run.next_order(w, d))))
  run.count_order(w, d)
  run.add_order(w, d, o, c, count, all_local)
  run.add_waiting(w, d, o)
  for number = 1, count do
    if not order_line(w, d, o, number) then
      run.give_up()
      return
    end
  end
  run.commit()
end

function transactions.payment()
  local w, d = warehouse(), uniform(1, 10)
  local customer_w, customer_d = w, d
  if uniform(1, 100) > 85 then
    customer_w, customer_d = another(w), uniform(1, 10)
  end
  local amount = uniform(100, 500000) / 100
  run.begin()
  run.pay_warehouse(amount, w)
  local warehouse_name = row(run.warehouse(w))
  run.pay_district(amount, w, d)
  local district_name = row(run.district(w, d))
  local c = customer(customer_w, customer_d)
  local credit = select(14, row(run.payer(customer_w, customer_d, c)))
  if credit == "BC" then
    local notes = row(run.notes(customer_w, customer_d, c))
    notes = ("%d %d %d %d %d %.2f|%s"):format(c, customer_d, customer_w, d, w, amount, notes)
    run.pay_with_notes(amount, amount, notes:sub(1, 500), customer_w, customer_d, c)
  else
    run.pay(amount, amount, customer_w, customer_d, c)
  end
  run.add_history(c, customer_d, customer_w, d, w, amount, warehouse_name .. "    "
    .. district_name)
  run.commit()
end

function transactions.order_status()
  local w, d = warehouse(), uniform(1, 10)
  run.look()
  local c = customer(w, d)
  run.customer(w, d, c)
  local o = row(run.last_order(w, d, c))
  if o then
    run.lines(w, d, tonumber(o))
  end
  run.commit()
end

-- Writes precede reads of the same rows: in a transaction that reads from a snapshot, a newer order
-- is visible only to the transaction that has changed it.
local function deliver(w, d, carrier)
  local o = row(run.oldest(w, d))
  if not o then
    return
  end
  o = tonumber(o)
  run.no_longer_waits(w, d, o)
  run.carry(carrier, w, d, o)
  local c = row(run.buyer_of(w, d, o))
  run.deliver_lines(w, d, o)
  local amount = row(run.amount_of(w, d, o))
  run.charge(tonumber(amount), w, d, tonumber(c))
end

function transactions.delivery()
  local w, carrier = warehouse(), uniform(1, 10)
  run.begin()
  for d = 1, 10 do
    deliver(w, d, carrier)
  end
  run.commit()
end

function transactions.stock_level()
  local w, d = warehouse(), opt.home == "fixed" and own_district or uniform(1, 10)
  run.look()
  local next_id = tonumber((row(run.next_id(w, d))))
  run.scarce(w, d, next_id - 20, next_id, uniform(10, 20))
  run.commit()
end

return transactions
