-- The one statement of `pgbench -S`, prepared: the balance of a random account by its key.
--
-- Why it exists: four programs can send it, to the same table (pgbench, sysbench, the engine and a
-- bare socket loop), so what a client costs can be compared with nothing else in between. How to
-- read it: CPU of the client per statement; throughput only beside the server's own CPU.
--
-- Expects the table that `pgbench -i` makes. PostgreSQL only.

sysbench.cmdline.options = {
  accounts = {"Rows of pgbench_accounts: 100,000 for each unit of pgbench's scale", 100000},
}

if dbdyno then
  dbdyno.volume = function()
    return { rows = 0, bytes = 0, statements = 1 }
  end
end

local statement, account

function thread_init()
  local connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT abalance FROM pgbench_accounts WHERE aid = ?")
  account = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(account)
end

function event()
  account:set(sysbench.rand.uniform(1, sysbench.opt.accounts))
  statement:execute()
end
