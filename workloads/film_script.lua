-- A script as an application's developer would write it for existing tables: lists of statements as
-- text, its own options, only `run`. It uses nothing but sysbench's own API.
--
-- Why it exists: to be copied. Put your statements into the lists and your ranges into the options;
-- the same file then also runs with sysbench. How to read it: events over time; an event is one
-- round of the application, its reads first. docs/workloads/imdb_like.md
--
-- Expects the schema `imdb`, which `imdb_like prepare` makes. MySQL, MariaDB and PostgreSQL.

if sysbench.cmdline.command == nil then
  error("name a command: run")
end

sysbench.cmdline.options = {
  point_selects = { "Statements of an event with a number in them", 5 },
  skip_trx = { "Without BEGIN and COMMIT", false },
  ids = { "Numbers are drawn from 1 to this: titles that there are", 3000000 },
}

if dbdyno then
  dbdyno.volume = function()
    return { event_bytes = 150 }
  end
end

local counts = {
  "SELECT COUNT(*) FROM imdb.title",
}

local numbered = {
  "SELECT * FROM imdb.title WHERE id = %d",
  "SELECT AVG(rating) FROM imdb.movie_ratings WHERE movie_id = %d",
  "SELECT * FROM imdb.comments ORDER BY id DESC LIMIT 10",
}

local named = {
  "SELECT * FROM imdb.title WHERE title LIKE '%s%%'",
}

local add_user =
  "INSERT INTO imdb.users (email_address, first_name, last_name) VALUES ('%s', '%s', '%s')"
local add_view = "INSERT INTO imdb.page_views (type, viewed_id, user_id) VALUES ('%s', %d, %d)"
local kinds = { "actor", "character", "movie" }

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local random = drv:name() == "pgsql" and "RANDOM()" or "RAND()"
  numbered[4] = "SELECT * FROM imdb.users ORDER BY " .. random .. " LIMIT 1"
end

function thread_done()
  con:disconnect()
end

-- A prefix followed by random letters and digits.
local function text(beginning)
  return sysbench.rand.string(beginning .. string.rep("@", sysbench.rand.special(2, 15)))
end

-- Letters and digits, 5 to 10 of them, each number alike.
local function name()
  return sysbench.rand.string(string.rep("@", sysbench.rand.uniform(5, 10)))
end

local function read()
  for _, statement in ipairs(counts) do
    con:query(statement)
  end
  for _ = 1, sysbench.opt.point_selects do
    local id = sysbench.rand.pareto(1, sysbench.opt.ids)
    con:query(string.format(numbered[math.random(#numbered)], id))
  end
  for _, statement in ipairs(named) do
    con:query(string.format(statement, text("")))
  end
end

local function write()
  local address = name() .. "@" .. name() .. ".com"
  con:query(string.format(add_user, address, text("first-"), text("last-")))
  con:query(string.format(add_view, kinds[math.random(#kinds)],
    sysbench.rand.special(2, 500000), sysbench.rand.special(2, 500000)))
end

function event()
  if not sysbench.opt.skip_trx then
    con:query("BEGIN")
  end
  read()
  write()
  if not sysbench.opt.skip_trx then
    con:query("COMMIT")
  end
end
