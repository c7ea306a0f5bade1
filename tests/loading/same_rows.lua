-- Fills a table for each line of a file, and prints what became of it: the error, the rows stored.
--
-- A line, with tabs between: what follows CREATE TABLE w, the columns that the INSERT names ("":
-- none), the rows with `|` between them, statements before and after (`;` between them), and the
-- query that shows what is stored ("": all rows).

sysbench.cmdline.options = {
  cells = { "File with a cell a line", "" },
  session = { "What the session is set to", "" },
}

local function each(con, statements)
  for statement in statements:gmatch("[^;]+") do con:query(statement) end
end

local function fields(line)
  local found = {}
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do found[#found + 1] = field end
  return found
end

local function fill(con, named, rows)
  local prefix = "INSERT INTO w" .. (named == "" and "" or " (" .. named .. ")") .. " VALUES"
  con:bulk_insert_init(prefix)
  for row in rows:gmatch("[^|]+") do con:bulk_insert_next("(" .. row .. ")") end
  con:bulk_insert_done()
end

-- Every row, each value as text, NULL apart from the text.
local function show(con, query)
  local found, rows = con:query(query), {}
  for _ = 1, found and found.nrows or 0 do
    local row = found:fetch_row()
    for column = 1, found.nfields do
      row[column] = row[column] and "'" .. row[column] .. "'" or "-"
    end
    rows[#rows + 1] = table.concat(row, ",")
  end
  table.sort(rows)
  return table.concat(rows, " ")
end

function prepare()
  local con = sysbench.sql.driver():connect()
  each(con, sysbench.opt.session)
  local before
  local number = 0
  for line in io.lines(sysbench.opt.cells) do
    number = number + 1
    local columns, named, rows, first, last, query = unpack(fields(line))
    if columns ~= before then
      each(con, "DROP TABLE IF EXISTS w;CREATE TABLE w " .. columns)
      before = columns
    else
      con:query("DELETE FROM w")
    end
    each(con, first)
    local fine, why = pcall(fill, con, named, rows)
    if type(why) == "table" then why = ("restart %s %s"):format(why.sql_errno, why.sql_errmsg) end
    local kept, stored = pcall(show, con, query ~= "" and query or "SELECT * FROM w")
    why = fine and "stored" or tostring(why):gsub("^%S*:%d+: ", "")
    print(("%d: %s: %s"):format(number, why, tostring(stored)))
    each(con, last)
  end
end
