-- What has to be true of the shop's tables, whatever has been bought.

require("shop_tables")

-- Each asks for the rows of a warehouse that break the rule.
local RULES = {
  { "a warehouse was paid what its districts were paid", [[
    SELECT warehouse.w FROM shop_warehouse warehouse JOIN shop_district district
      ON district.w = warehouse.w WHERE warehouse.w = %d
      GROUP BY warehouse.w HAVING MAX(warehouse.paid) <> SUM(district.paid)]] },
  { "the next order follows the last", [[
    SELECT district.d FROM shop_district district JOIN shop_purchase purchase
      ON purchase.w = district.w AND purchase.d = district.d WHERE district.w = %d
      GROUP BY district.d HAVING MAX(next_order) - 1 <> MAX(purchase.o)]] },
  { "orders that wait are consecutive", [[
    SELECT d FROM shop_waiting WHERE w = %d
      GROUP BY d HAVING MAX(o) - MIN(o) + 1 <> COUNT(*)]] },
  { "orders have as many lines as they say", [[
    SELECT purchase.o FROM shop_purchase purchase LEFT JOIN shop_line line
      ON line.w = purchase.w AND line.d = purchase.d AND line.o = purchase.o
      WHERE purchase.w = %d GROUP BY purchase.w, purchase.d, purchase.o
      HAVING MAX(purchase.line_count) <> COUNT(line.n)]] },
  { "an order waits or has a carrier", [[
    SELECT purchase.o FROM shop_purchase purchase LEFT JOIN shop_waiting waiting
      ON waiting.w = purchase.w AND waiting.d = purchase.d AND waiting.o = purchase.o
      WHERE purchase.w = %d AND (purchase.carrier IS NULL) <> (waiting.o IS NOT NULL)]] },
  { "lines are delivered with their order", [[
    SELECT line.o FROM shop_line line JOIN shop_purchase purchase
      ON line.w = purchase.w AND line.d = purchase.d AND line.o = purchase.o
      WHERE purchase.w = %d AND (purchase.carrier IS NULL) <> (line.delivered = 0)]] },
  { "a district was paid what is on record", [[
    SELECT district.d FROM shop_district district JOIN shop_payment payment
      ON payment.w = district.w AND payment.d = district.d WHERE district.w = %d
      GROUP BY district.d HAVING MAX(district.paid) <> SUM(payment.amount)]] },
  { "a balance is what was delivered less what was paid", [[
    SELECT customer.c FROM shop_customer customer WHERE customer.w = %d AND customer.balance <>
      (SELECT COALESCE(SUM(line.amount), 0) FROM shop_purchase purchase JOIN shop_line line
        ON line.w = purchase.w AND line.d = purchase.d AND line.o = purchase.o
        WHERE purchase.w = customer.w AND purchase.d = customer.d AND purchase.c = customer.c
          AND line.delivered = 1)
      - (SELECT COALESCE(SUM(amount), 0) FROM shop_payment payment
        WHERE payment.w = customer.w AND payment.d = customer.d AND payment.c = customer.c)]] },
}

local ROWS = { "warehouse", "district", "customer", "stock" }

function cmd_check()
  local con = connect()
  local first, last, step = own_share(sysbench.opt.warehouses)
  for w = first, last, step do
    for _, name in ipairs(ROWS) do
      local text = ("SELECT COUNT(*) FROM shop_%s WHERE w = %d"):format(name, w)
      print(("> %d has %s rows of %s"):format(w, con:query_row(text), name))
    end
    for _, rule in ipairs(RULES) do
      local rs = con:query(rule[2]:format(w))
      local example = rs.nrows > 0 and ": not so for " .. rs:fetch_row()[1] or ""
      print(("> %d %s%s"):format(w, rule[1], example))
    end
  end
end
