-- A load that is refused, another one, and a row of its own: prints which numbers the rows have.

sysbench.cmdline.options = {
  column = { "The table's columns and options", "" },
  prefix = { "The INSERT that is refused", "" },
  rows = { "Its rows, with `|` between them", "" },
}

local function fill(con, prefix, rows)
  con:bulk_insert_init(prefix)
  for row in rows:gmatch("[^|]+") do con:bulk_insert_next(row) end
  con:bulk_insert_done()
end

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS w")
  con:query("CREATE TABLE w " .. sysbench.opt.column)
  local fine = pcall(fill, con, sysbench.opt.prefix, sysbench.opt.rows)
  print(fine and "stored" or "refused")
  fill(con, "INSERT INTO w (v) VALUES", "('x')|('y')")
  con:query("INSERT INTO w (v) VALUES ('z')")
  local found = con:query("SELECT n, v FROM w ORDER BY n")
  for _ = 1, found.nrows do
    local row = found:fetch_row()
    print(row[1] .. " " .. row[2])
  end
end
