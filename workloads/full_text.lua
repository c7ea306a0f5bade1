-- Full-text search over pages and directory entries: five queries, and the making of an index.
--
-- Why it exists: storage engines have full-text indexes of their own, and differ by query and by
-- the way of loading. How to read it: times by label, one client. docs/workloads/full_text.md
--
-- Runs on MySQL (InnoDB from 5.6 on) and MariaDB: MATCH … AGAINST is theirs.

local sql = require("parts.sql")
local text = require("parts.full_text_rows")

sysbench.cmdline.options = sql.options {
  pages = { "Pages, stuffed with keywords", 8000 },
  page_words = { "Words of a page", 1000 },
  entries = { "Entries of the directory", 800000 },
  words = { "Different words, besides those that queries ask for", 20000 },
  passes = { "1: the index is there before the rows; 2: it is made after them", 1 },
  step = { "Of a run: queries, create_index or drop_index (a second index, once)", "queries" },
  query = { "1 to 5; 0: all five in turn", 0 },
}

local TABLES = { "text_page", "text_entry" }
local INDEXED = { text_page = "title, body", text_entry = "full_name, details" }
local COLUMNS = {
  text_page = "id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(255), body MEDIUMTEXT",
  text_entry = "id INTEGER NOT NULL PRIMARY KEY, full_name VARCHAR(100), details TEXT",
}

local function only_mysql()
  if sql.name() ~= "mysql" then
    error(("full_text is for MySQL and MariaDB: %s has no MATCH … AGAINST"):format(sql.name()), 0)
  end
end

-- Worker t loads the tables t+1, t+1+threads, ….
local function prepare_tables()
  only_mysql()
  local connection = sql.connect()
  for place in sql.share(#TABLES) do
    local name = TABLES[place]
    local index = ("FULLTEXT KEY %s_text (%s)"):format(name, INDEXED[name])
    sql.create_table(connection, name,
      COLUMNS[name] .. (sysbench.opt.passes == 1 and ", " .. index or ""))
    text.load(connection, name)
    if sysbench.opt.passes ~= 1 then
      connection:query(("ALTER TABLE %s ADD %s"):format(name, index))
    end
  end
end

function cleanup()
  sql.drop_tables(sql.connect(), TABLES)
end

local QUERIES = {
  "SELECT id, title, MATCH(title, body) AGAINST ('%s' IN NATURAL LANGUAGE MODE) AS score "
    .. "FROM text_page ORDER BY 3 DESC LIMIT 5",
  "SELECT id, title, MATCH(title, body) AGAINST ('%s' IN NATURAL LANGUAGE MODE) AS score "
    .. "FROM text_page ORDER BY 3 DESC LIMIT 5",
  "SELECT id, full_name, MATCH(full_name, details) AGAINST ('%s' IN BOOLEAN MODE) AS score "
    .. "FROM text_entry ORDER BY 3 DESC LIMIT 5",
  "SELECT id, full_name, MATCH(full_name, details) AGAINST ('%s' IN BOOLEAN MODE) AS score "
    .. "FROM text_entry ORDER BY 3 DESC LIMIT 5",
  "SELECT id, full_name, MATCH(full_name, details) AGAINST ('%s' IN BOOLEAN MODE) AS score "
    .. "FROM text_entry ORDER BY 3 DESC LIMIT 1",
}

-- The same rows by LIKE, which needs no index and knows no tokens: as many must match.
local function verify()
  only_mysql()
  local connection = sql.connect()
  for place, asked in ipairs(text.ASKED) do
    local name = place <= 2 and "text_page" or "text_entry"
    local matched = tonumber((connection:query_row(
      ("SELECT COUNT(*) FROM %s WHERE MATCH(%s) AGAINST ('%s' IN %s)"):format(name, INDEXED[name],
        asked.query, place <= 2 and "NATURAL LANGUAGE MODE" or "BOOLEAN MODE"))))
    local alike = tonumber((connection:query_row(
      ("SELECT COUNT(*) FROM %s WHERE %s"):format(name, asked.truth))))
    if matched ~= alike then
      error(("query %d finds %d rows of %s by its index; %d hold the words: are the server's "
        .. "least token size at most 4 and its stop words the usual ones?"):format(
        place, matched, name, alike), 0)
    end
    print(("query %d: %d rows"):format(place, matched))
  end
end

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  check = { verify },
}

local connection
local texts, labels, turn = {}, {}, 0

local function ask()
  local place = sysbench.opt.query
  if place == 0 then
    turn = turn % #texts + 1
    place = turn
  end
  sql.label(labels[place])
  connection:query(texts[place])
end

-- One event a table, then the client ends.
local function change(shape, label)
  return function()
    turn = turn + 1
    if turn > #TABLES then
      return true
    end
    sql.label(label .. " " .. TABLES[turn])
    connection:query(shape:format(TABLES[turn], TABLES[turn],
      (INDEXED[TABLES[turn]]:match(", (.*)"))))
  end
end

local STEPS = {
  queries = ask,
  create_index = change("ALTER TABLE %s ADD FULLTEXT KEY %s_second (%s)", "create_index"),
  drop_index = change("ALTER TABLE %s DROP KEY %s_second", "drop_index"),
}

function thread_init()
  only_mysql()
  local opt = sysbench.opt
  event = STEPS[opt.step]
    or error(("--step=%s: expected queries, create_index or drop_index"):format(opt.step), 0)
  if opt.query < 0 or opt.query > #QUERIES or opt.query % 1 ~= 0 then
    error(("--query=%s: expected 0 for all, or 1 to %d"):format(opt.query, #QUERIES), 0)
  end
  if event ~= ask and opt.threads > 1 then
    error(("--step=%s is for one client: an index is made once"):format(opt.step), 0)
  end
  connection = sql.connect()
  for place, asked in ipairs(text.ASKED) do
    texts[place], labels[place] = QUERIES[place]:format(asked.query), "query " .. place
  end
end

event = ask
