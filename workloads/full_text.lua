-- Full-text search over pages and directory entries: five queries, and building an index.
--
-- Why it exists: storage engines have their own full-text indexes, which differ by query and by the
-- way of loading. How to read it: times by label, one client. docs/workloads/full_text.md
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
  step = { "Of a run: queries, create_index or drop_index (a second index, once), or all with load",
    "queries" },
  rounds = { "With step=all: how often the five queries are asked", 10 },
  query = { "1 to 5; 0: all five in turn", 0 },
}

if dbdyno then
  dbdyno.volume = function(opt)
    -- Texts with their indexes; with `step=all` also the tables that they are copied from, and the
    -- second indexes. A page is its words, an entry twelve words and a name.
    local word = 7.5
    local page = word * (opt.page_words + 6)
    local text = opt.pages * page + opt.entries * (12 * word + 20)
    local all = opt.step == "all"
    local acts = 6 + 2 * (opt.passes - 1) + 5 * opt.rounds
    return {
      rows = opt.pages + opt.entries, bytes = text * (all and 4 or 2.5),
      event_s = all and text * 1e-6 / acts or 0.1,
    }
  end
end

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

local SOURCES = { text_page = "text_page_source", text_entry = "text_entry_source" }

local function index_of(name)
  return ("FULLTEXT KEY %s_text (%s)"):format(name, INDEXED[name])
end

local function add_index(name)
  return ("ALTER TABLE %s ADD %s"):format(name, index_of(name))
end

-- Worker t loads the tables t+1, t+1+threads, …. If loading is part of the run, the rows wait in a
-- table without an index, always of the same engine.
local function prepare_tables()
  only_mysql()
  local connection, opt = sql.connect(), sysbench.opt
  for place in sql.share(#TABLES) do
    local name = TABLES[place]
    sql.create_table(connection, name,
      COLUMNS[name] .. (opt.passes == 1 and ", " .. index_of(name) or ""))
    if opt.step == "all" then
      connection:query(("CREATE TABLE %s (%s) ENGINE=MyISAM"):format(SOURCES[name], COLUMNS[name]))
      text.load(connection, name, SOURCES[name])
    else
      text.load(connection, name)
      if opt.passes ~= 1 then
        connection:query(add_index(name))
      end
    end
  end
end

function cleanup()
  local connection = sql.connect()
  sql.drop_tables(connection, TABLES)
  sql.drop_tables(connection, { SOURCES.text_page, SOURCES.text_entry })
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

-- A second row to be found makes the server sort where one exact match alone ends the search.
local TWO_ROWS = "phrase of two rows"

-- The same query with LIKE, which needs no index and has no tokens: it must match as many rows.
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

-- Adds one statement per table to a list of labels and statements.
local function each_table(acts, label, make)
  for _, name in ipairs(TABLES) do
    acts[#acts + 1] = { label .. " " .. name, make(name) }
  end
end

local function add_second(name)
  return ("ALTER TABLE %s ADD FULLTEXT KEY %s_second (%s)"):format(
    name, name, (INDEXED[name]:match(", (.*)")))
end

local function drop_second(name)
  return ("ALTER TABLE %s DROP KEY %s_second"):format(name, name)
end

local function fill(name)
  return ("INSERT INTO %s SELECT * FROM %s"):format(name, SOURCES[name])
end

-- A client's statements, one per event; then it ends.
local LISTS = {
  create_index = function(acts) each_table(acts, "create_index", add_second) end,
  drop_index = function(acts) each_table(acts, "drop_index", drop_second) end,
  all = function(acts)
    each_table(acts, "load", fill)
    if sysbench.opt.passes ~= 1 then
      each_table(acts, "index", add_index)
    end
    each_table(acts, "create_index", add_second)
    each_table(acts, "drop_index", drop_second)
    for _ = 1, sysbench.opt.rounds do
      for place, query in ipairs(texts) do
        acts[#acts + 1] = { labels[place], query }
      end
      acts[#acts + 1] = { TWO_ROWS, (texts[#texts]:gsub("LIMIT 1$", "LIMIT 2")) }
    end
  end,
}

local acts = {}

local function next_act()
  turn = turn + 1
  local act = acts[turn]
  if not act then
    return true
  end
  sql.label(act[1])
  connection:query(act[2])
end

function thread_init()
  only_mysql()
  local opt = sysbench.opt
  local list = LISTS[opt.step]
  if not list and opt.step ~= "queries" then
    error(("--step=%s: expected queries, create_index, drop_index or all"):format(opt.step), 0)
  end
  if opt.query < 0 or opt.query > #QUERIES or opt.query % 1 ~= 0 then
    error(("--query=%s: expected 0 for all, or 1 to %d"):format(opt.query, #QUERIES), 0)
  end
  if list and opt.threads > 1 then
    error(("--step=%s is for one client: an index is made once"):format(opt.step), 0)
  end
  connection = sql.connect()
  for place, asked in ipairs(text.ASKED) do
    texts[place], labels[place] = QUERIES[place]:format(asked.query), "query " .. place
  end
  if list then
    list(acts)
    event = next_act
  end
end

event = ask
