-- Bank transactions in the manner of TPC-B: add a sum to an account, its teller and its branch, and
-- insert a history row.
--
-- Why it exists: it is the smallest transaction with a hot spot, and, through pgbench, the usual
-- load for PostgreSQL. How to read it: with as many clients as branches or more, it measures
-- waiting for the branch's row, with fewer the log. docs/workloads/tpcb_like.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local check = require("parts.check")

local TELLERS = 10

sysbench.cmdline.options = check.options(sql.options {
  branches = { "Branches: the scale; as many clients can write at once", 1 },
  accounts = { "Accounts of a branch", 100000 },
  local_percent = { "Accounts of the teller's own branch, in percent; the others are any", 0 },
  mode = { "full: 5 statements; simple: without teller and branch; select: the balance", "full" },
})

if dbdyno then
  dbdyno.volume = function(opt)
    local rows = opt.branches * (1 + 10 + opt.accounts)
    return { rows = rows, bytes = rows * 150, event_bytes = 60 }
  end
end

local TABLES = { "tpcb_branch", "tpcb_teller", "tpcb_account", "tpcb_history" }

local COLUMNS = {
  tpcb_branch = "id INTEGER NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, filler CHAR(88)",
  tpcb_teller = "id INTEGER NOT NULL PRIMARY KEY, branch INTEGER NOT NULL, "
    .. "balance BIGINT NOT NULL, filler CHAR(84)",
  tpcb_account = "id BIGINT NOT NULL PRIMARY KEY, branch INTEGER NOT NULL, "
    .. "balance BIGINT NOT NULL, filler CHAR(84)",
  tpcb_history = "teller INTEGER NOT NULL, branch INTEGER NOT NULL, account BIGINT NOT NULL, "
    .. "delta BIGINT NOT NULL, made TIMESTAMP NOT NULL, filler CHAR(22)",
}

local function load_accounts(connection, branch)
  local count, filler = sysbench.opt.accounts, ("x"):rep(84)
  sql.begin_rows(connection, "tpcb_account (id, branch, balance, filler)", branch)
  for id = (branch - 1) * count + 1, branch * count do
    connection:bulk_insert_next(("(%d, %d, 0, '%s')"):format(id, branch, filler))
  end
  connection:bulk_insert_done()
end

local function load_branches(connection)
  sql.begin_rows(connection, "tpcb_branch (id, balance, filler)")
  for branch = 1, sysbench.opt.branches do
    connection:bulk_insert_next(("(%d, 0, '%s')"):format(branch, ("x"):rep(88)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "tpcb_teller (id, branch, balance, filler)")
  for teller = 1, sysbench.opt.branches * TELLERS do
    connection:bulk_insert_next(("(%d, %d, 0, '%s')"):format(
      teller, math.floor((teller - 1) / TELLERS) + 1, ("x"):rep(84)))
  end
  connection:bulk_insert_done()
end

local function prepare_tables()
  local connection = sql.connect()
  if sysbench.tid % sysbench.opt.threads == 0 then
    for _, name in ipairs(TABLES) do
      sql.create_table(connection, name, COLUMNS[name])
    end
    load_branches(connection)
  else
    sql.await_table(connection, TABLES[#TABLES])
  end
  for branch in sql.share(sysbench.opt.branches) do
    load_accounts(connection, branch)
  end
end

function cleanup()
  sql.drop_tables(sql.connect(), TABLES)
end

-- Rows with the sums they have, and the sums that the history implies.
local function sums_differ(name, column)
  return ([[
    SELECT kept.id, kept.balance, COALESCE(moved.total, 0) FROM %s kept
      LEFT JOIN (SELECT %s AS id, SUM(delta) AS total FROM tpcb_history GROUP BY %s) moved
      ON moved.id = kept.id WHERE kept.balance <> COALESCE(moved.total, 0)]])
    :format(name, column, column)
end

local ACCOUNTS = { { "accounts have what the history gave them",
  sums_differ("tpcb_account", "account") } }
local ALL = {
  ACCOUNTS[1],
  { "tellers have what the history gave them", sums_differ("tpcb_teller", "teller") },
  { "branches have what the history gave them", sums_differ("tpcb_branch", "branch") },
  { "sums over branches, tellers and accounts are equal", [[
    SELECT branches.total, tellers.total, accounts.total
      FROM (SELECT SUM(balance) AS total FROM tpcb_branch) branches,
        (SELECT SUM(balance) AS total FROM tpcb_teller) tellers,
        (SELECT SUM(balance) AS total FROM tpcb_account) accounts
      WHERE branches.total <> tellers.total OR tellers.total <> accounts.total]] },
}

local function verify(connection)
  check.conditions(connection, sysbench.opt.mode == "full" and ALL or ACCOUNTS)
end

done = check.after(verify)

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  check = { function() verify(sql.connect()) end },
}

local uniform = sysbench.rand.uniform
local begin, commit, update_account, select_account, update_teller, update_branch, insert_history

local function prepare_writes(connection)
  local INTEGER, BIGINT = sql.INTEGER, sql.BIGINT
  begin = sql.statement(connection, sql.begin())
  commit = sql.statement(connection, "COMMIT")
  update_account = sql.statement(connection,
    "UPDATE tpcb_account SET balance = balance + ? WHERE id = ?", BIGINT, BIGINT)
  update_teller = sql.statement(connection,
    "UPDATE tpcb_teller SET balance = balance + ? WHERE id = ?", BIGINT, INTEGER)
  update_branch = sql.statement(connection,
    "UPDATE tpcb_branch SET balance = balance + ? WHERE id = ?", BIGINT, INTEGER)
  insert_history = sql.statement(connection,
    "INSERT INTO tpcb_history (teller, branch, account, delta, made) "
    .. "VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)", INTEGER, INTEGER, BIGINT, BIGINT)
end

local function transfer()
  local opt = sysbench.opt
  local teller = uniform(1, opt.branches * TELLERS)
  local branch = math.floor((teller - 1) / TELLERS) + 1
  local account = sysbench.rand.default(1, opt.branches * opt.accounts)
  if opt.local_percent > 0 and uniform(1, 100) <= opt.local_percent then
    account = (branch - 1) * opt.accounts + sysbench.rand.default(1, opt.accounts)
  end
  local delta = uniform(-5000, 5000)
  begin()
  update_account(delta, account)
  select_account(account)
  if opt.mode == "full" then
    update_teller(delta, teller)
    update_branch(delta, branch)
  end
  insert_history(teller, branch, account, delta)
  commit()
end

local function look()
  select_account(sysbench.rand.default(1, sysbench.opt.branches * sysbench.opt.accounts))
end

local MODES = { full = transfer, simple = transfer, select = look }

function thread_init()
  local connection = sql.connect()
  event = MODES[sysbench.opt.mode]
    or error(("--mode=%s: expected full, simple or select"):format(sysbench.opt.mode), 0)
  select_account = sql.statement(connection,
    "SELECT balance FROM tpcb_account WHERE id = ?", sql.BIGINT)
  if sysbench.opt.mode ~= "select" then
    prepare_writes(connection)
  end
end

event = transfer
