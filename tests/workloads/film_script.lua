-- A script as an application's developer writes it for tables that are there already: text
-- statements on the schema `imdb`, its own options, `run` alone. It knows nothing of ours.

if sysbench.cmdline.command == nil then
  error("name a command: run")
end

sysbench.cmdline.options = {
  point_selects = { "Statements of an event with a number in them", 5 },
  skip_trx = { "Without BEGIN and COMMIT", false },
}

local numbered = {
  "SELECT * FROM imdb.title WHERE id = %d",
  "SELECT AVG(rating) avg FROM imdb.movie_ratings WHERE movie_id = %d",
  "SELECT * FROM imdb.comments ORDER BY id DESC limit 10",
}

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function thread_done()
  con:disconnect()
end

local function text(prefix)
  return sysbench.rand.string(prefix .. string.rep("@", sysbench.rand.special(2, 15)))
end

function event()
  if not sysbench.opt.skip_trx then
    con:query("BEGIN")
  end
  for _ = 1, sysbench.opt.point_selects do
    con:query(string.format(numbered[math.random(#numbered)], sysbench.rand.pareto(1, 500)))
  end
  con:query(string.format("SELECT * FROM imdb.title WHERE title LIKE '%s%%'", text("")))
  con:query(string.format(
    "INSERT INTO imdb.users (email_address, first_name, last_name) VALUES ('%s', '%s', '%s')",
    text("") .. "@" .. text("") .. ".com", text("first-"), text("last-")))
  con:query(string.format(
    "INSERT INTO imdb.page_views (type, viewed_id, user_id) VALUES ('%s', %d, %d)",
    "movie", sysbench.rand.special(2, 500), sysbench.rand.special(2, 500)))
  if not sysbench.opt.skip_trx then
    con:query("COMMIT")
  end
end
