-- run --events=1
-- Messages begin with the script's line; a failure that was caught leaves no trace behind.
function sysbench.hooks.sql_error_ignorable(e)
  print("> descriptor", e.errcode, e.sql_errno, e.query)
end

function event()
  con = sysbench.sql.driver():connect()
  print("> query", pcall(function() con:query("SELECT nothing FROM nowhere") end))
  print("> row", con:query_row("SELECT 1"), con.error == sysbench.sql.error.NONE)
  print("> twice", con:disconnect(), con:disconnect())
  error("something else")
end
