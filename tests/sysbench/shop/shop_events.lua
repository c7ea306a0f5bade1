-- The five transactions.

require("shop_tables")

local function some_district()
  return sysbench.rand.uniform(1, sysbench.opt.warehouses),
    sysbench.rand.uniform(1, sysbench.opt.districts)
end

local function some_customer()
  return popular(15, 1, sysbench.opt.customers)
end

-- The customer in the middle of those with a surname, by forename; nil if nobody has it.
local function customer_by_name(w, d, name)
  local rs = con:query(([[SELECT c, balance FROM shop_customer
    WHERE w = %d AND d = %d AND surname = '%s' ORDER BY forename]]):format(w, d, name))
  local c
  for _ = 1, math.ceil(rs.nrows / 2) do
    c = unpack(rs:fetch_row(), 1, rs.nfields)
  end
  return c
end

local function sell(w, d, o, n, item, discount)
  local rs = con:query(("SELECT price, name FROM shop_item WHERE item = %d"):format(item))
  if rs.nrows == 0 then
    return false
  end
  local price = unpack(rs:fetch_row(), 1, rs.nfields)
  local quantity, sold = con:query_row(([[SELECT quantity, sold FROM shop_stock
    WHERE w = %d AND item = %d FOR UPDATE]]):format(w, item))
  local wanted = sysbench.rand.uniform(1, 10)
  local left = tonumber(quantity) - wanted
  con:query(("UPDATE shop_stock SET quantity = %d, sold = %d WHERE w = %d AND item = %d"):format(
    left >= 10 and left or left + 91, sold + wanted, w, item))
  con:query(("INSERT INTO shop_line VALUES (%d, %d, %d, %d, %d, %d, %d, 0)"):format(
    w, d, o, n, item, wanted, math.floor(wanted * price * (100 - discount) / 100)))
  return true
end

function buy()
  local w, d = some_district()
  local c, count = some_customer(), sysbench.rand.uniform(2, 6)
  local items = {}
  for n = 1, count do
    items[n] = popular(63, 1, sysbench.opt.items)
  end
  -- In one order, so that two of these don't wait for each other.
  table.sort(items)
  if sysbench.rand.uniform(1, 100) == 1 then
    items[count] = -1
  end

  con:query("BEGIN")
  local discount, name, tax = con:query_row(([[SELECT discount, surname, tax
    FROM shop_customer customer JOIN shop_warehouse warehouse ON warehouse.w = customer.w
    WHERE customer.w = %d AND d = %d AND c = %d]]):format(w, d, c))
  local o = con:query_row(([[SELECT next_order FROM shop_district
    WHERE w = %d AND d = %d FOR UPDATE]]):format(w, d))
  con:query(("UPDATE shop_district SET next_order = %d WHERE w = %d AND d = %d")
    :format(o + 1, w, d))
  con:query(("INSERT INTO shop_purchase VALUES (%d, %d, %d, %d, NULL, %d)")
    :format(w, d, o, c, count))
  con:query(("INSERT INTO shop_waiting VALUES (%d, %d, %d)"):format(w, d, o))
  for n, item in ipairs(items) do
    if not sell(w, d, o, n, item, discount) then
      ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
      con:query("ROLLBACK")
      return
    end
  end
  con:query("COMMIT")
end

function pay()
  local w, d = some_district()
  local amount = sysbench.rand.uniform(1, 5000)
  con:query("BEGIN")
  con:query(("UPDATE shop_warehouse SET paid = paid + %d WHERE w = %d"):format(amount, w))
  con:query(("UPDATE shop_district SET paid = paid + %d WHERE w = %d AND d = %d")
    :format(amount, w, d))
  local c = sysbench.rand.uniform(1, 100) > 60 and some_customer()
    or customer_by_name(w, d, surname(popular(7, 0, 9))) or some_customer()
  local credit, notes, balance = con:query_row(([[SELECT credit, notes, balance
    FROM shop_customer WHERE w = %d AND d = %d AND c = %d FOR UPDATE]]):format(w, d, c))
  local more = ""
  if credit == "BC" then
    notes = ("%d-%d-%d-%d %.2f "):format(c, d, w, os.time(), amount / 100) .. notes
    more = (", notes = '%s'"):format(notes:sub(1, 250))
  end
  con:query(([[UPDATE shop_customer SET balance = %d, payments = payments + 1%s
    WHERE w = %d AND d = %d AND c = %d]]):format(balance - amount, more, w, d, c))
  con:query(("INSERT INTO shop_payment VALUES (%d, %d, %d, %d, NOW())"):format(w, d, c, amount))
  con:query("COMMIT")
end

function ask()
  local w, d = some_district()
  con:query("BEGIN")
  local c = customer_by_name(w, d, surname(popular(7, 0, 9))) or some_customer()
  local o = con:query_row(([[SELECT o FROM shop_purchase
    WHERE w = %d AND d = %d AND c = %d ORDER BY o DESC]]):format(w, d, c))
  if o then
    local rs = con:query(([[SELECT item, quantity, amount, delivered FROM shop_line
      WHERE w = %d AND d = %d AND o = %d]]):format(w, d, o))
    for _ = 1, rs.nrows do
      local row = rs:fetch_row()
      assert(#row == rs.nfields)
    end
    assert(rs:fetch_row() == nil)
  end
  con:query("COMMIT")
end

local function deliver_one(w, d, carrier)
  local rs = con:query(([[SELECT o FROM shop_waiting WHERE w = %d AND d = %d
    ORDER BY o LIMIT 1 FOR UPDATE]]):format(w, d))
  if rs.nrows == 0 then
    return
  end
  local o = rs:fetch_row()[1]
  con:query(("DELETE FROM shop_waiting WHERE w = %d AND d = %d AND o = %d"):format(w, d, o))
  local c = con:query_row(("SELECT c FROM shop_purchase WHERE w = %d AND d = %d AND o = %d")
    :format(w, d, o))
  con:query(("UPDATE shop_purchase SET carrier = %d WHERE w = %d AND d = %d AND o = %d")
    :format(carrier, w, d, o))
  con:query(("UPDATE shop_line SET delivered = 1 WHERE w = %d AND d = %d AND o = %d")
    :format(w, d, o))
  local sum = con:query_row(("SELECT SUM(amount) FROM shop_line WHERE w = %d AND d = %d AND o = %d")
    :format(w, d, o))
  con:query(([[UPDATE shop_customer SET balance = balance + %d, deliveries = deliveries + 1
    WHERE w = %d AND d = %d AND c = %d]]):format(sum, w, d, c))
end

function deliver()
  local w, carrier = sysbench.rand.uniform(1, sysbench.opt.warehouses), sysbench.rand.uniform(1, 10)
  con:query("BEGIN")
  for d = 1, sysbench.opt.districts do
    deliver_one(w, d, carrier)
  end
  con:query("COMMIT")
end

function count_stock()
  local w, d = some_district()
  con:query("BEGIN")
  local next_order = con:query_row(("SELECT next_order FROM shop_district WHERE w = %d AND d = %d")
    :format(w, d))
  local rs = con:query(([[SELECT DISTINCT item FROM shop_line
    WHERE w = %d AND d = %d AND o < %d AND o >= %d]]):format(w, d, next_order, next_order - 20))
  local items = {}
  for n = 1, rs.nrows do
    items[n] = rs:fetch_row()[1]
  end
  for _, item in ipairs(items) do
    con:query_row(("SELECT COUNT(*) FROM shop_stock WHERE w = %d AND item = %d AND quantity < %d")
      :format(w, item, sysbench.rand.uniform(10, 20)))
  end
  con:query("COMMIT")
end
