-- run --events=1 --oltp-tables-count=3 --num-threads=1
-- What scripts of the 0.5 days rely on besides the statements: where the script is, the old names
-- of options, and that a query has no value.
local folder = string.match(test, "(.*/)") or ""

function event(thread_id)
  print("> script", folder, test)
  print("> options", num_threads, oltp_tables_count, oltp_table_size, db_driver)
  db_query("DROP TABLE IF EXISTS api_legacy_query")
  print("> create", db_query("CREATE TABLE api_legacy_query (a INT)"))
  print("> select", db_query("SELECT count(*) FROM api_legacy_query"))
  print("> delete", db_query("DELETE FROM api_legacy_query"))
  db_query("DROP TABLE api_legacy_query")
  db_disconnect()
end
