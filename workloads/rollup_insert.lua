-- Inserts with roll-ups: each transaction inserts one row and adds it to three tables of sums.
--
-- Why it exists: data only grows here, so the cost of a storage engine's structure shows as a rate
-- that falls with size, and its background work as dips. How to read it: events over time from
-- empty tables, beside the size on disk. docs/workloads/rollup_insert.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local check = require("parts.check")

sysbench.cmdline.options = check.options(sql.options {
  tables = { "Sets of tables; each client keeps one", 1 },
  key = { "sequential: id; composite: (hid, mid, id); reversed: (id, hid, mid)", "sequential" },
  hosts = { "Different hid and mid of a key that has them, each", 10000 },
  k_range = { "k is from 1 to this, drawn by pareto", 10000 },
  selects = { "Sums over the newest 100 rows of the set, read after each insert", 0 },
})

if dbdyno then
  dbdyno.volume = function(opt)
    -- As published: a sequential key has texts and a second index.
    return { rows = 0, bytes = 0, event_bytes = opt.key == "sequential" and 900 or 240 }
  end
end

local LEVELS = { 10, 100, 1000 }

local KEYS = {
  sequential = "id BIGINT NOT NULL PRIMARY KEY",
  composite = "hid INTEGER NOT NULL, mid INTEGER NOT NULL, id BIGINT NOT NULL, "
    .. "PRIMARY KEY (hid, mid, id)",
  reversed = "hid INTEGER NOT NULL, mid INTEGER NOT NULL, id BIGINT NOT NULL, "
    .. "PRIMARY KEY (id, hid, mid)",
}
local KEY_COLUMNS = { sequential = { "id" }, composite = { "hid", "mid", "id" } }
KEY_COLUMNS.reversed = { "id", "hid", "mid" }

local function key_columns()
  return KEY_COLUMNS[sysbench.opt.key] or error(("--key=%s: expected sequential, composite or "
    .. "reversed"):format(sysbench.opt.key), 0)
end

local function names_of(set)
  local names = { "rollup_rows" .. set }
  for place, level in ipairs(LEVELS) do
    names[place + 1] = ("rollup_%d_%d"):format(level, set)
  end
  return names
end

local function prepare_tables()
  local connection = sql.connect()
  key_columns()
  for set in sql.share(sysbench.opt.tables) do
    for place, name in ipairs(names_of(set)) do
      -- The sequential key has text and a second index, as in the published test.
      local rows = place == 1 and sysbench.opt.key == "sequential"
      sql.create_table(connection, name, "k BIGINT NOT NULL, "
        .. (rows and "c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, " or "")
        .. KEYS[sysbench.opt.key])
      if rows then
        connection:query(("CREATE INDEX %s_k ON %s (k)"):format(name, name))
      end
    end
  end
end

function cleanup()
  local connection = sql.connect()
  for set = 1, sysbench.opt.tables do
    sql.drop_tables(connection, names_of(set))
  end
end

-- Roll-up rows that are missing, or whose sum differs from that of the rows below.
local function sums_differ(level, names, columns)
  local grouped, on = {}, {}
  for place, column in ipairs(columns) do
    local whole = sql.name() == "mysql" and "DIV" or "/"
    grouped[place] = column == "id" and ("id %s %d"):format(whole, level) or column
    on[place] = ("kept.%s = found.%s"):format(column, column)
  end
  local selected = {}
  for place, column in ipairs(columns) do
    selected[place] = grouped[place] .. " AS " .. column
  end
  local found = ("(SELECT %s, SUM(k) AS total FROM %s GROUP BY %s) found"):format(
    table.concat(selected, ", "), names[1], table.concat(grouped, ", "))
  return ("SELECT found.id, found.total, kept.k FROM %s LEFT JOIN %s kept ON %s "
    .. "WHERE kept.k IS NULL OR kept.k <> found.total"):format(
    found, names[level == 10 and 2 or level == 100 and 3 or 4], table.concat(on, " AND "))
end

local function verify(connection)
  local conditions = {}
  for set = 1, sysbench.opt.tables do
    local names = names_of(set)
    for place, level in ipairs(LEVELS) do
      local name = names[place + 1]
      conditions[#conditions + 1] = {
        ("%s has the sums of %s"):format(name, names[1]),
        sums_differ(level, names, key_columns()),
      }
      conditions[#conditions + 1] = {
        ("%s has no sums but those"):format(name),
        ("SELECT kept.total, rows_.total FROM (SELECT COALESCE(SUM(k), 0) AS total FROM %s) kept, "
          .. "(SELECT COALESCE(SUM(k), 0) AS total FROM %s) rows_ "
          .. "WHERE kept.total <> rows_.total"):format(name, names[1]),
      }
    end
  end
  check.conditions(connection, conditions)
end

done = check.after(verify)

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  check = { function() verify(sql.connect()) end },
}

local function upsert(name, columns)
  local places = ("?, "):rep(#columns) .. "?"
  local text = ("INSERT INTO %s (%s, k) VALUES (%s) "):format(
    name, table.concat(columns, ", "), places)
  if sql.name() == "mysql" then
    return text .. "ON DUPLICATE KEY UPDATE k = VALUES(k) + k"
  end
  return text .. ("ON CONFLICT (%s) DO UPDATE SET k = excluded.k + %s.k"):format(
    table.concat(columns, ", "), name)
end

local begin, commit, insert, newest
local rollups = {}
local C, PAD = ("###########-"):rep(9) .. "###########", ("###########-"):rep(4) .. "###########"
local next_id, step, sequential

local function prepare_statements(connection, set)
  local columns, names = key_columns(), names_of(set)
  local kinds = {}
  for place, column in ipairs(columns) do
    kinds[place] = column == "id" and sql.BIGINT or sql.INTEGER
  end
  kinds[#kinds + 1] = sql.BIGINT
  begin, commit = sql.statement(connection, sql.begin()), sql.statement(connection, "COMMIT")
  for place, _ in ipairs(LEVELS) do
    rollups[place] = sql.statement(connection, upsert(names[place + 1], columns), unpack(kinds))
  end
  local texts = ""
  if sequential then
    kinds[#kinds + 1], kinds[#kinds + 2] = sql.text(120), sql.text(60)
    texts = ", c, pad"
  end
  insert = sql.statement(connection, ("INSERT INTO %s (%s, k%s) VALUES (%s?)"):format(
    names[1], table.concat(columns, ", "), texts, ("?, "):rep(#kinds - 1)), unpack(kinds))
  newest = sql.statement(connection, ("SELECT SUM(k), COUNT(*) FROM %s WHERE id > ?"):format(
    names[1]), sql.BIGINT)
end

local function insert_row(id, hid, mid, k)
  if sequential then
    insert(id, k, sysbench.rand.string(C), sysbench.rand.string(PAD))
  elseif sysbench.opt.key == "composite" then
    insert(hid, mid, id, k)
  else
    insert(id, hid, mid, k)
  end
end

local function roll_up(act, id, hid, mid, k)
  if sequential then
    act(id, k)
  elseif sysbench.opt.key == "composite" then
    act(hid, mid, id, k)
  else
    act(id, hid, mid, k)
  end
end

function event()
  local opt = sysbench.opt
  local id, k = next_id, sysbench.rand.pareto(1, opt.k_range)
  local hid, mid = sysbench.rand.uniform(1, opt.hosts), sysbench.rand.uniform(1, opt.hosts)
  begin()
  insert_row(id, hid, mid, k)
  for place, level in ipairs(LEVELS) do
    roll_up(rollups[place], math.floor(id / level), hid, mid, k)
  end
  commit()
  for _ = 1, opt.selects do
    newest(id - 100 * step)
  end
  -- A restarted event has inserted nothing: its number is still unused.
  next_id = id + step
end

function thread_init()
  local connection, opt = sql.connect(), sysbench.opt
  local set = sysbench.tid % opt.tables + 1
  sequential = opt.key == "sequential"
  prepare_statements(connection, set)
  local last = connection:query_row(("SELECT MAX(id) FROM %s"):format(names_of(set)[1]))
  -- Each client of a set counts from its own number in steps of the run's number of clients.
  step = opt.threads
  next_id = (math.floor((tonumber(last) or 0) / step) + 1) * step + sysbench.tid % step
end
