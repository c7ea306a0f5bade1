-- A film site: titles, ratings, comments, users and page views, in their own schema.
--
-- Why it exists: published custom scripts expect their application's tables; `prepare` makes tables
-- for scripts written for a film database, and `run` is a load of that kind. How to read it: events
-- over time; one event mixes cheap and expensive statements, as an application does.
-- docs/workloads/imdb_like.md
--
-- Runs on MySQL, MariaDB and PostgreSQL.

local sql = require("parts.sql")
local check = require("parts.check")

sysbench.cmdline.options = check.options(sql.options {
  titles = { "Titles; there are as many comments and ratings", 100000 },
  users = { "Users when the run begins", 100000 },
  point_selects = { "Reading statements of an event, each drawn from four kinds", 5 },
  skip_trx = { "No BEGIN and COMMIT: each statement commits for itself", false },
})

if dbdyno then
  dbdyno.volume = function(opt)
    return {
      rows = 3 * opt.titles + opt.users, bytes = opt.titles * 320 + opt.users * 90,
      event_bytes = 150,
    }
  end
end

local TABLES = { "title", "comments", "movie_ratings", "users", "page_views" }

-- NUMBERED stands for a key that the server generates.
local COLUMNS = {
  title = "id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(255) NOT NULL, "
    .. "production_year INTEGER, kind VARCHAR(15)",
  comments = "id NUMBERED PRIMARY KEY, title_id INTEGER NOT NULL, user_id INTEGER NOT NULL, "
    .. "comment VARCHAR(1000)",
  movie_ratings = "id NUMBERED PRIMARY KEY, movie_id INTEGER NOT NULL, "
    .. "user_id INTEGER NOT NULL, rating INTEGER NOT NULL",
  users = "id NUMBERED PRIMARY KEY, email_address VARCHAR(100) NOT NULL, "
    .. "first_name VARCHAR(50), last_name VARCHAR(50)",
  page_views = "id NUMBERED PRIMARY KEY, type VARCHAR(20) NOT NULL, viewed_id INTEGER NOT NULL, "
    .. "user_id INTEGER NOT NULL, viewed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
}

local uniform, pareto = sysbench.rand.uniform, sysbench.rand.pareto
local patterns = {}

local function letters(least, most)
  local count = uniform(least, most)
  patterns[count] = patterns[count] or ("@"):rep(count)
  return sysbench.rand.string(patterns[count])
end

local LOADS = {
  { "title (id, title, production_year, kind)", "titles", function(id)
    return ("(%d, '%s %s', %d, '%s')"):format(id, letters(2, 15), letters(2, 15),
      uniform(1900, 2025), uniform(1, 4) == 1 and "series" or "movie")
  end },
  { "comments (title_id, user_id, comment)", "titles", function()
    return ("(%d, %d, '%s')"):format(pareto(1, sysbench.opt.titles),
      uniform(1, sysbench.opt.users), letters(20, 200))
  end },
  { "movie_ratings (movie_id, user_id, rating)", "titles", function()
    return ("(%d, %d, %d)"):format(pareto(1, sysbench.opt.titles),
      uniform(1, sysbench.opt.users), uniform(1, 10))
  end },
  { "users (email_address, first_name, last_name)", "users", function()
    return ("('%s@%s.com', '%s', '%s')"):format(letters(5, 10), letters(5, 10), letters(2, 15),
      letters(2, 15))
  end },
}

function prepare()
  local connection, numbered = sql.connect(), "INTEGER NOT NULL AUTO_INCREMENT"
  if sql.name() == "sqlite" then
    error("imdb_like is for MySQL, MariaDB and PostgreSQL: SQLite has no schema `imdb`", 0)
  elseif sql.name() == "pgsql" then
    numbered = "SERIAL"
  end
  connection:query("CREATE SCHEMA imdb")
  for _, name in ipairs(TABLES) do
    sql.create_table(connection, "imdb." .. name, (COLUMNS[name]:gsub("NUMBERED", numbered)))
  end
  for _, load in ipairs(LOADS) do
    sql.begin_rows(connection, "imdb." .. load[1])
    for id = 1, sysbench.opt[load[2]] do
      connection:bulk_insert_next(load[3](id))
    end
    connection:bulk_insert_done()
  end
  connection:query("CREATE INDEX title_of ON imdb.title (title)")
  connection:query("CREATE INDEX rating_of ON imdb.movie_ratings (movie_id)")
end

function cleanup()
  local connection = sql.connect()
  local cascade = sql.name() == "pgsql" and " CASCADE" or ""
  connection:query("DROP SCHEMA IF EXISTS imdb" .. cascade)
end

-- With single commits, an interrupted run may leave one user per client without a view.
local function verify(connection)
  check.conditions(connection, {
    { "every new user has looked at a page", ("SELECT users.found - %d, views.found FROM "
      .. "(SELECT COUNT(*) AS found FROM imdb.users) users, "
      .. "(SELECT COUNT(*) AS found FROM imdb.page_views) views "
      .. "WHERE users.found - %d <> views.found"):format(sysbench.opt.users, sysbench.opt.users) },
    { "as many titles as the option says", ("SELECT found FROM "
      .. "(SELECT COUNT(*) AS found FROM imdb.title) counted WHERE found <> %d"):format(
      sysbench.opt.titles) },
    { "ratings are from 1 to 10",
      "SELECT id, rating FROM imdb.movie_ratings WHERE rating NOT BETWEEN 1 AND 10" },
  })
end

done = check.after(verify)
sysbench.cmdline.commands = { check = { function() verify(sql.connect()) end } }

local begin, commit, count_titles, titles_like, add_user, add_view
local points = {}
local KINDS = { "actor", "character", "movie" }

function thread_init()
  local connection = sql.connect()
  local random = sql.name() == "pgsql" and "random()" or "RAND()"
  local SHORT, NAME = sql.text(20), sql.text(50)
  begin, commit = sql.statement(connection, "BEGIN"), sql.statement(connection, "COMMIT")
  count_titles = sql.statement(connection, "SELECT COUNT(*) FROM imdb.title")
  titles_like = sql.statement(connection,
    "SELECT id, title, production_year, kind FROM imdb.title WHERE title LIKE ?", SHORT)
  local by_title = sql.statement(connection,
    "SELECT id, title, production_year, kind FROM imdb.title WHERE id = ?", sql.INTEGER)
  local rating = sql.statement(connection,
    "SELECT AVG(rating) FROM imdb.movie_ratings WHERE movie_id = ?", sql.INTEGER)
  local newest = sql.statement(connection,
    "SELECT id, title_id, user_id, comment FROM imdb.comments ORDER BY id DESC LIMIT 10")
  local anybody = sql.statement(connection, "SELECT id, email_address, first_name, last_name "
    .. "FROM imdb.users ORDER BY " .. random .. " LIMIT 1")
  points = {
    by_title, rating,
    function() return newest() end, function() return anybody() end,
  }
  add_user = sql.statement(connection, "INSERT INTO imdb.users (email_address, first_name, "
    .. "last_name) VALUES (?, ?, ?)", NAME, NAME, NAME)
  add_view = sql.statement(connection, "INSERT INTO imdb.page_views (type, viewed_id, user_id) "
    .. "VALUES (?, ?, ?)", SHORT, sql.INTEGER, sql.INTEGER)
end

local function read()
  local opt = sysbench.opt
  count_titles()
  for _ = 1, opt.point_selects do
    points[uniform(1, #points)](pareto(1, opt.titles))
  end
  titles_like(letters(2, 15) .. "%")
end

local function write()
  local opt = sysbench.opt
  add_user(letters(5, 10) .. "@" .. letters(5, 10) .. ".com", letters(2, 15), letters(2, 15))
  add_view(KINDS[uniform(1, #KINDS)], pareto(1, opt.titles), uniform(1, opt.users))
end

function event()
  local apart = sysbench.opt.skip_trx
  if not apart then
    begin()
  end
  read()
  write()
  if not apart then
    commit()
  end
end
