-- The conditions that the tables of `tpcc_like` meet while no transaction is in flight.
--
-- Each is TPC-C's consistency condition of the same number (3.3.2.1 to 3.3.2.12), as a query for
-- the rows that break it. Amounts are compared with a tolerance: SQLite adds them as fractions.

local check = require("parts.check")

local SAME_ORDER = "%s.w_id = %s.w_id AND %s.d_id = %s.d_id AND %s.o_id = %s.o_id"

local function same_order(one, other)
  return SAME_ORDER:format(one, other, one, other, one, other)
end

local LINES_BY_ORDER = "(SELECT w_id, d_id, o_id, COUNT(*) AS line_count, SUM(amount) AS amount, "
  .. "COUNT(delivered) AS delivered FROM tpcc_order_line GROUP BY w_id, d_id, o_id) l"

-- The sum of a customer's delivered orders.
local DELIVERED_BY_CUSTOMER = "(SELECT o.w_id, o.d_id, o.c_id, SUM(l.amount) AS amount "
  .. "FROM tpcc_orders o JOIN " .. LINES_BY_ORDER .. " ON " .. same_order("o", "l")
  .. " WHERE o.carrier_id IS NOT NULL GROUP BY o.w_id, o.d_id, o.c_id) b"

local PAID_BY_CUSTOMER = "(SELECT c_w_id, c_d_id, c_id, SUM(amount) AS amount FROM tpcc_history "
  .. "GROUP BY c_w_id, c_d_id, c_id) p"

local OF_CUSTOMER = "b.w_id = c.w_id AND b.d_id = c.d_id AND b.c_id = c.c_id"

local CONDITIONS = {
  { "1, a warehouse was paid what its districts were paid", [[
    SELECT w.w_id, w.ytd, d.ytd FROM tpcc_warehouse w
      JOIN (SELECT w_id, SUM(ytd) AS ytd FROM tpcc_district GROUP BY w_id) d ON d.w_id = w.w_id
      WHERE ABS(w.ytd - d.ytd) > 0.005]] },
  { "2, the next order follows the last one", [[
    SELECT d.w_id, d.d_id, d.next_o_id, o.last, n.last FROM tpcc_district d
      LEFT JOIN (SELECT w_id, d_id, MAX(o_id) AS last FROM tpcc_orders GROUP BY w_id, d_id) o
        ON o.w_id = d.w_id AND o.d_id = d.d_id
      LEFT JOIN (SELECT w_id, d_id, MAX(o_id) AS last FROM tpcc_new_order GROUP BY w_id, d_id) n
        ON n.w_id = d.w_id AND n.d_id = d.d_id
      WHERE COALESCE(o.last, 0) <> d.next_o_id - 1 OR n.last <> d.next_o_id - 1]] },
  { "3, orders that wait for delivery are consecutive", [[
    SELECT w_id, d_id, MIN(o_id), MAX(o_id), COUNT(*) FROM tpcc_new_order GROUP BY w_id, d_id
      HAVING MAX(o_id) - MIN(o_id) + 1 <> COUNT(*)]] },
  { "4, a district has as many lines as its orders say", [[
    SELECT o.w_id, o.d_id, o.said, l.found
      FROM (SELECT w_id, d_id, SUM(ol_cnt) AS said FROM tpcc_orders GROUP BY w_id, d_id) o
      LEFT JOIN (SELECT w_id, d_id, COUNT(*) AS found FROM tpcc_order_line
        GROUP BY w_id, d_id) l ON l.w_id = o.w_id AND l.d_id = o.d_id
      WHERE o.said <> COALESCE(l.found, 0)]] },
  { "5, an order has a carrier or waits for delivery", [[
    SELECT o.w_id, o.d_id, o.o_id, o.carrier_id FROM tpcc_orders o LEFT JOIN tpcc_new_order n
      ON ]] .. same_order("n", "o") .. [[
      WHERE (o.carrier_id IS NULL AND n.o_id IS NULL)
        OR (o.carrier_id IS NOT NULL AND n.o_id IS NOT NULL)]] },
  { "6, an order has as many lines as it says", [[
    SELECT o.w_id, o.d_id, o.o_id, o.ol_cnt, l.line_count FROM tpcc_orders o LEFT JOIN ]]
    .. LINES_BY_ORDER .. " ON " .. same_order("l", "o")
    .. " WHERE o.ol_cnt <> COALESCE(l.line_count, 0)" },
  { "7, lines are delivered if their order has a carrier", [[
    SELECT o.w_id, o.d_id, o.o_id, o.carrier_id, l.line_count, l.delivered
      FROM tpcc_orders o JOIN ]]
    .. LINES_BY_ORDER .. " ON " .. same_order("l", "o")
    .. " WHERE l.delivered <> CASE WHEN o.carrier_id IS NULL THEN 0 ELSE l.line_count END" },
  { "8, a warehouse was paid what the history says", [[
    SELECT w.w_id, w.ytd, h.amount FROM tpcc_warehouse w
      LEFT JOIN (SELECT w_id, SUM(amount) AS amount FROM tpcc_history GROUP BY w_id) h
        ON h.w_id = w.w_id WHERE ABS(w.ytd - COALESCE(h.amount, 0)) > 0.005]] },
  { "9, a district was paid what the history says", [[
    SELECT d.w_id, d.d_id, d.ytd, h.amount FROM tpcc_district d
      LEFT JOIN (SELECT w_id, d_id, SUM(amount) AS amount FROM tpcc_history GROUP BY w_id, d_id) h
        ON h.w_id = d.w_id AND h.d_id = d.d_id
      WHERE ABS(d.ytd - COALESCE(h.amount, 0)) > 0.005]] },
  { "10, a balance is what was delivered less what was paid", [[
    SELECT c.w_id, c.d_id, c.c_id, c.balance, b.amount, p.amount FROM tpcc_customer c
      LEFT JOIN ]] .. DELIVERED_BY_CUSTOMER .. " ON " .. OF_CUSTOMER .. [[ LEFT JOIN ]]
    .. PAID_BY_CUSTOMER .. [[ ON p.c_w_id = c.w_id AND p.c_d_id = c.d_id AND p.c_id = c.c_id
      WHERE ABS(c.balance - COALESCE(b.amount, 0) + COALESCE(p.amount, 0)) > 0.005]] },
  { "11, as many orders wait as were made since the load and not delivered", [[
    SELECT o.w_id, o.d_id, o.made, n.waiting, d.delivered
      FROM (SELECT w_id, d_id, COUNT(*) AS made FROM tpcc_orders GROUP BY w_id, d_id) o
      JOIN (SELECT w_id, d_id, SUM(delivery_cnt) AS delivered FROM tpcc_customer
        GROUP BY w_id, d_id) d ON d.w_id = o.w_id AND d.d_id = o.d_id
      LEFT JOIN (SELECT w_id, d_id, COUNT(*) AS waiting FROM tpcc_new_order GROUP BY w_id, d_id) n
        ON n.w_id = o.w_id AND n.d_id = o.d_id
      WHERE o.made - COALESCE(n.waiting, 0) <> d.delivered + %d]] },
  { "12, balance and payments together are what was delivered", [[
    SELECT c.w_id, c.d_id, c.c_id, c.balance, c.ytd_payment, b.amount FROM tpcc_customer c
      LEFT JOIN ]] .. DELIVERED_BY_CUSTOMER .. " ON " .. OF_CUSTOMER .. [[
      WHERE ABS(c.balance + c.ytd_payment - COALESCE(b.amount, 0)) > 0.005]] },
}

local ROWS = {
  { "tpcc_warehouse", 1 }, { "tpcc_district", 10 }, { "tpcc_customer", "customers", 10 },
  { "tpcc_stock", "items", 1 },
}

-- Tables whose rows no transaction adds or removes: nil, or the error of one.
local function miscounted(connection, size)
  for _, rows in ipairs(ROWS) do
    local expected = (size[rows[2]] or rows[2]) * (rows[3] or 1) * sysbench.opt.warehouses
    local found = tonumber((connection:query_row("SELECT COUNT(*) FROM " .. rows[1])))
    if found ~= expected then
      return ("%s has %d rows and not %d: were the tables loaded with these options?"):format(
        rows[1], found, expected)
    end
  end
end

-- Raises an error that names each violated condition; checks all warehouses at once.
return function(connection, size)
  local wrong = miscounted(connection, size)
  if wrong then
    error(wrong, 0)
  end
  local conditions = {}
  for place, condition in ipairs(CONDITIONS) do
    conditions[place] = { "condition " .. condition[1], condition[2] }
  end
  conditions[11][2] = conditions[11][2]:format(size.delivered)
  check.conditions(connection, conditions)
end
