-- Bulk inserts into an audited table whose time of insertion comes from the client, from a trigger
-- in SQL, or from one in C.
--
-- Why it exists: a trigger runs once per row, so in a bulk insert its language dominates the time.
-- How to read it: the time of an event, one way of stamping against another.
-- docs/workloads/trigger_load.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite; triggers in C on PostgreSQL.

local sql = require("parts.sql")
local check = require("parts.check")
local digits = require("parts.digits")

sysbench.cmdline.options = check.options(sql.options {
  stamp = { "Who gives the time: client, sql (a trigger), or c (a function of `library`)",
    "client" },
  rows = { "Rows of an event, one statement; rounded up to a first digit and zeros", 1000 },
  library = { "For stamp=c: the shared library, as the server finds it", "" },
  symbol = { "For stamp=c: the trigger function in it", "stamp_by_number" },
})

if dbdyno then
  dbdyno.volume = function(opt)
    return { rows = 0, bytes = 0, event_bytes = opt.rows * 50, event_s = opt.rows * 1.8e-6 }
  end
end

local MOST = 90000000

-- Statements that make each database stamp a row; %s: library, %s: symbol.
local TRIGGERS = {
  mysql = { sql = { "CREATE TRIGGER transdtls_stamp BEFORE INSERT ON transdtls FOR EACH ROW "
    .. "SET NEW.insert_ts = CURRENT_TIMESTAMP" } },
  sqlite = { sql = { "CREATE TRIGGER transdtls_stamp AFTER INSERT ON transdtls FOR EACH ROW BEGIN "
    .. "UPDATE transdtls SET insert_ts = CURRENT_TIMESTAMP WHERE rowid = NEW.rowid; END" } },
}
local ATTACH = "CREATE TRIGGER transdtls_stamp BEFORE INSERT OR UPDATE ON transdtls "
  .. "FOR EACH ROW EXECUTE PROCEDURE transdtls_stamp()"
TRIGGERS.pgsql = {
  sql = { "CREATE FUNCTION transdtls_stamp() RETURNS trigger AS $$ BEGIN "
    .. "IF TG_OP = 'INSERT' THEN NEW.insert_ts := now(); ELSE NEW.update_ts := now(); END IF; "
    .. "RETURN NEW; END $$ LANGUAGE plpgsql", ATTACH },
  c = { "CREATE FUNCTION transdtls_stamp() RETURNS trigger AS '%s', '%s' LANGUAGE C", ATTACH },
}

function prepare()
  local connection, opt = sql.connect(), sysbench.opt
  local trigger = TRIGGERS[sql.name()][opt.stamp]
  if not trigger and opt.stamp ~= "client" then
    error(("--stamp=%s: on %s expected client, sql%s"):format(opt.stamp, sql.name(),
      sql.name() == "pgsql" and " or c" or ""), 0)
  end
  sql.create_table(connection, "transdtls",
    "transaction_id INTEGER NOT NULL, insert_ts TIMESTAMP NULL, update_ts TIMESTAMP NULL")
  for _, text in ipairs(trigger or {}) do
    connection:query(opt.stamp == "c" and text:format(opt.library, opt.symbol) or text)
  end
end

function cleanup()
  local connection = sql.connect()
  sql.drop_tables(connection, { "transdtls" })
  if sql.name() == "pgsql" then
    connection:query("DROP FUNCTION IF EXISTS transdtls_stamp()")
  end
end

local function verify(connection)
  check.conditions(connection, {
    { "every row has the time of its insertion",
      "SELECT transaction_id FROM transdtls WHERE insert_ts IS NULL" },
    { "no row has a time of an update", "SELECT transaction_id FROM transdtls "
      .. "WHERE update_ts IS NOT NULL" },
    { "every number is there as often as any other",
      "SELECT MIN(often), MAX(often) FROM (SELECT COUNT(*) AS often FROM transdtls "
      .. "GROUP BY transaction_id) counted HAVING MIN(often) <> MAX(often)" },
  })
end

done = check.after(verify)
sysbench.cmdline.commands = { check = { function() verify(sql.connect()) end } }

local connection, before, behind

function thread_init()
  connection = sql.connect()
  local opt = sysbench.opt
  local n, from = digits.rows(digits.rounded("rows", opt.rows, MOST))
  if opt.stamp == "client" then
    local as = sql.name() == "pgsql" and "TIMESTAMP '" or "'"
    before = "INSERT INTO transdtls (transaction_id, insert_ts) SELECT " .. n .. ", " .. as
    behind = "' FROM " .. from
  else
    before = "INSERT INTO transdtls (transaction_id) SELECT " .. n .. " FROM " .. from
  end
end

function event()
  sql.label(sysbench.opt.stamp)
  connection:query(behind and before .. os.date("!%Y-%m-%d %H:%M:%S") .. behind or before)
end
