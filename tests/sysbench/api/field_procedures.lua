-- run --events=2
-- Stored procedures and functions, transactions, and what a result without rows is.
function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  mysql = drv:name() == "mysql"
  con:query("DROP TABLE IF EXISTS api_calls")
  con:query("CREATE TABLE api_calls (id INT PRIMARY KEY, v INT)")
  con:query("INSERT INTO api_calls VALUES (1, 10), (2, 20), (3, 30)")
  if mysql then
    con:query("DROP PROCEDURE IF EXISTS api_raise")
    con:query("DROP FUNCTION IF EXISTS api_sum")
    con:query("CREATE PROCEDURE api_raise(IN k INT, OUT n INT) BEGIN "
      .. "UPDATE api_calls SET v = v + 1 WHERE id <= k; SELECT COUNT(*) INTO n FROM api_calls; END")
    con:query("CREATE FUNCTION api_sum(k INT) RETURNS INT READS SQL DATA "
      .. "RETURN (SELECT SUM(v) FROM api_calls WHERE id <= k)")
  else
    con:query("CREATE OR REPLACE FUNCTION api_sum(k INT) RETURNS BIGINT LANGUAGE SQL AS "
      .. "$$ SELECT SUM(v) FROM api_calls WHERE id <= k $$")
    con:query("CREATE OR REPLACE PROCEDURE api_raise(k INT) LANGUAGE plpgsql AS "
      .. "$$ BEGIN UPDATE api_calls SET v = v + 1 WHERE id <= k; END $$")
  end
end

function event()
  con:query(mysql and "CALL api_raise(2, @n)" or "CALL api_raise(2)")
  print("> sum", con:query_row("SELECT api_sum(3), api_sum(1)"))
  con:query("BEGIN")
  con:query("UPDATE api_calls SET v = 0")
  print("> inside", con:query_row("SELECT SUM(v) FROM api_calls"))
  con:query("ROLLBACK")
  print("> outside", con:query_row("SELECT SUM(v) FROM api_calls"))
  print("> none", con:query("DELETE FROM api_calls WHERE id > 5") == nil)
  print("> empty", con:query("SELECT id FROM api_calls WHERE id > 5").nrows)
end

function thread_done()
  con:query(mysql and "DROP FUNCTION api_sum" or "DROP FUNCTION api_sum(INT)")
  con:query(mysql and "DROP PROCEDURE api_raise" or "DROP PROCEDURE api_raise(INT)")
  con:query("DROP TABLE api_calls")
end
