-- run --events=2
function thread_init(thread_id)
  db_connect()
end
function event(thread_id)
  db_query("DROP TABLE IF EXISTS api_legacy")
  db_query("CREATE TABLE api_legacy (a INT, b VARCHAR(10))")
  db_bulk_insert_init("INSERT INTO api_legacy VALUES ")
  for i = 1, 10 do db_bulk_insert_next("(" .. i .. ", 'x')") end
  db_bulk_insert_done()
  local rs = db_query("SELECT COUNT(*) FROM api_legacy")
  print("> driver", db_driver, thread_id, DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION)
  print("> within", sb_rand(1, 5) <= 5, sb_rand_uniform(1, 5) >= 1, #sb_rand_str("###"))
  db_query("DROP TABLE api_legacy")
end
