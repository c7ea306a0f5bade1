-- run --events=2
drv = sysbench.sql.driver()
con = drv:connect()
stmt = con:prepare("SELECT 1")
function event()
  print("> row", con:query_row("SELECT 7"))
  stmt:execute()
end
