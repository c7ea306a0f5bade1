-- Runs the statements of an option and prints their rows: how tests look into any database.

sysbench.cmdline.options = { text = { "Statements, with | between them", "" } }

function prepare()
  local connection = sysbench.sql.driver():connect()
  for text in sysbench.opt.text:gmatch("[^|]+") do
    local found = connection:query(text)
    for _ = 1, found and found.nrows or 0 do
      local row = found:fetch_row()
      for column = 1, found.nfields do
        row[column] = row[column] or "NULL"
      end
      print(table.concat(row, ","))
    end
  end
end
