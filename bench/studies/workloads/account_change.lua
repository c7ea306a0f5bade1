-- A small write transaction: read an account, change it, note the movement in a table with a
-- trigger.
--
-- Why it exists: `trigger-cost.toml` needs a change of known kind and size. The trigger gives each
-- movement the time it was made, as audited tables do; `session_replication_role = replica` in the
-- server's settings silences it, and nothing else differs. It is one of inserts, since a trigger
-- before an update locks the row first, and costs three times as much.
--
-- Runs on PostgreSQL.

sysbench.cmdline.options = {
  accounts = {"Rows of the table that is changed", 25000},
}

local TABLES = {
  [[CREATE TABLE account (
      id INTEGER NOT NULL PRIMARY KEY,
      balance BIGINT NOT NULL,
      filler CHAR(84) NOT NULL DEFAULT ''
    ) WITH (fillfactor = 70)]],
  [[CREATE TABLE movement (
      account INTEGER NOT NULL,
      delta BIGINT NOT NULL,
      made TIMESTAMP NOT NULL DEFAULT 'epoch'
    )]],
}

local STAMP = {
  [[CREATE FUNCTION movement_stamp() RETURNS trigger AS $$ BEGIN
      NEW.made := clock_timestamp();
      RETURN NEW;
    END $$ LANGUAGE plpgsql]],
  [[CREATE TRIGGER movement_stamp BEFORE INSERT ON movement
      FOR EACH ROW EXECUTE FUNCTION movement_stamp()]],
}

local function connect()
  return sysbench.sql.driver():connect()
end

local function each(connection, statements)
  for _, text in ipairs(statements) do
    connection:query(text)
  end
end

function prepare()
  local connection = connect()
  each(connection, TABLES)
  connection:bulk_insert_init("INSERT INTO account (id, balance) VALUES")
  for id = 1, sysbench.opt.accounts do
    connection:bulk_insert_next(("(%d, 0)"):format(id))
  end
  connection:bulk_insert_done()
  each(connection, STAMP)
end

function cleanup()
  each(connect(), {
    "DROP TABLE IF EXISTS movement, account",
    "DROP FUNCTION IF EXISTS movement_stamp()",
  })
end

-- A prepared statement with its parameters.
local function prepared(connection, text, ...)
  local statement, parameters = connection:prepare(text), {}
  for place, kind in ipairs({...}) do
    parameters[place] = statement:bind_create(kind)
  end
  if #parameters > 0 then
    statement:bind_param(unpack(parameters))
  end
  return {statement = statement, parameters = parameters}
end

local function execute(one, ...)
  for place, parameter in ipairs(one.parameters) do
    parameter:set((select(place, ...)))
  end
  one.statement:execute()
end

local begin, look, change, note, commit

function thread_init()
  local connection, INT, BIGINT = connect(), sysbench.sql.type.INT, sysbench.sql.type.BIGINT
  begin, commit = prepared(connection, "BEGIN"), prepared(connection, "COMMIT")
  look = prepared(connection, "SELECT balance FROM account WHERE id = ?", INT)
  change = prepared(connection,
    "UPDATE account SET balance = balance + ? WHERE id = ?", BIGINT, INT)
  note = prepared(connection, "INSERT INTO movement (account, delta) VALUES (?, ?)", INT, BIGINT)
end

function event()
  local account = sysbench.rand.uniform(1, sysbench.opt.accounts)
  local delta = sysbench.rand.uniform(1, 1000)
  execute(begin)
  execute(look, account)
  execute(change, delta, account)
  execute(note, account, delta)
  execute(commit)
end

-- A silenced trigger that fires all the same, or the other way round, would be no effect at all.
function done()
  local connection = connect()
  local role = connection:query_row("SHOW session_replication_role")
  local made, stamped = connection:query_row(
    "SELECT COUNT(*), COUNT(CASE WHEN made > 'epoch' THEN 1 END) FROM movement")
  if stamped ~= (role == "origin" and made or "0") then
    error(("%s of %s movements have a time, though session_replication_role is %s"):format(
      stamped, made, role), 0)
  end
end
