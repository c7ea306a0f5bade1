//! Sessions with real files.

use std::path::Path;
use std::time::Duration;

use record::SqliteTarget;

use super::*;
use crate::connect_error::ConnectError;
use crate::reply::Tally;
use crate::sqlite::connect;

fn target(path: &Path, pragmas: &[(&str, &str)]) -> SqliteTarget {
    let pragmas = pragmas.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    SqliteTarget { path: path.into(), pragmas, busy_timeout_ms: 10 }
}

fn try_open(target: &SqliteTarget) -> Result<SqliteSession, ConnectError> {
    Ok(connect(target, Duration::from_millis(200))?.session)
}

/// A session with its own file.
fn fresh() -> (tempfile::TempDir, SqliteSession) {
    let folder = tempfile::tempdir().unwrap();
    let session = try_open(&target(&folder.path().join("db"), &[])).unwrap();
    (folder, session)
}

fn ok(session: &mut SqliteSession, sql: &str) -> Reply {
    let reply = session.query(sql.as_bytes());
    assert_eq!(reply.error, None, "{sql}");
    reply
}

fn prepare(session: &mut SqliteSession, sql: &str) -> StatementId {
    let (id, reply) = session.prepare(sql.as_bytes());
    assert_eq!(reply, Reply::default(), "{sql}");
    id
}

fn rows(session: &SqliteSession, cursor: &mut RowCursor) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    while session.row(cursor, |value| {
        row.push(value.map(|value| String::from_utf8(value.to_vec()).unwrap()));
    }) {
        rows.push(std::mem::take(&mut row));
    }
    rows
}

fn row(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).into())).collect()
}

#[test]
fn statements_are_classed_by_what_they_did() {
    let (_folder, mut session) = fresh();
    let mut check = |sql, class, affected| {
        let reply = ok(&mut session, sql);
        assert_eq!((reply.class, reply.affected), (Some(class), affected), "{sql}");
    };
    check("CREATE TABLE t (id INTEGER PRIMARY KEY, c)", Class::Other, 0);
    check("INSERT INTO t VALUES (1, 'a'), (2, 'b')", Class::Write, 2);
    check("UPDATE t SET c = 'x' WHERE id = 9", Class::Other, 0);
    check("SELECT * FROM t WHERE id = 9", Class::Read, 0);
    check("BEGIN", Class::Other, 0);
    check("DELETE FROM t WHERE id = 1 RETURNING id", Class::Read, 1);
    check("COMMIT", Class::Other, 0);
    assert_eq!(ok(&mut session, " -- nothing"), Reply::default());
    assert_eq!(ok(&mut session, ""), Reply::default());
}

#[test]
fn one_text_may_hold_several_statements_and_result_sets() {
    let (_folder, mut session) = fresh();
    let reply = ok(&mut session, "SELECT 1, NULL, ''; ; CREATE TABLE t (a); -- and\n SELECT 'x';");
    assert_eq!(reply.tally, Tally { reads: 2, writes: 0, other: 1 });
    assert_eq!((reply.rows, reply.columns, reply.more), (1, 3, true));
    let mut cursor = RowCursor::default();
    let expected = vec![Some("1".into()), None, Some(String::new())];
    assert_eq!(rows(&session, &mut cursor), [expected]);
    let second = session.next_result(&mut cursor).unwrap();
    assert_eq!((second.rows, second.columns, second.more), (1, 1, false));
    assert_eq!(rows(&session, &mut cursor), [row(&["x"])]);
    assert_eq!(session.next_result(&mut cursor), None);
}

#[test]
fn a_failing_statement_ends_its_text() {
    let (_folder, mut session) = fresh();
    let reply = session.query(b"SELECT 1; SELECT * FROM missing; CREATE TABLE t (a)");
    let error = reply.error.unwrap();
    assert_eq!((error.code().as_str(), error.transient), ("1", false));
    assert_eq!(error.message, "no such table: missing");
    assert_eq!(reply.tally, Tally { reads: 1, writes: 0, other: 0 });
    assert!(session.query(b"SELECT * FROM t").error.is_some());
    assert!(session.query(b"SELECT 1\0garbage").error.is_none());
}

#[test]
fn an_integer_that_sqlite_can_t_hold_is_refused() {
    let (_folder, mut session) = fresh();
    ok(&mut session, "CREATE TABLE t (a TEXT, b INTEGER)");
    let insert = prepare(&mut session, "INSERT INTO t VALUES (?, ?)");
    let values = [Value::Bytes(b"kept"), Value::Unsigned(1 << 63)];
    let error = session.execute(insert, values.into_iter()).unwrap().error.unwrap();
    let expected = "datatype mismatch: 9223372036854775808 is above 9223372036854775807";
    assert_eq!((error.number, error.message.as_str()), (20, expected));
    let fits = [Value::Bytes(b"a"), Value::Int(i64::MAX)];
    assert_eq!(session.execute(insert, fits.into_iter()).unwrap().affected, 1);
    session.query(b"SELECT a, b, typeof(b) FROM t");
    let expected = row(&["a", "9223372036854775807", "integer"]);
    assert_eq!(rows(&session, &mut RowCursor::default()), [expected]);
}

#[test]
fn prepared_statements_take_values_of_every_kind() {
    let (_folder, mut session) = fresh();
    ok(&mut session, "CREATE TABLE t (id INTEGER PRIMARY KEY, d REAL, c TEXT)");
    let insert = prepare(&mut session, "INSERT INTO t VALUES (?, ?, ?)");
    let select = prepare(&mut session, "SELECT id, d, c, typeof(c) FROM t WHERE id = ?");
    let values = [Value::Int(i64::MIN), Value::Double(0.5), Value::Bytes("dé'?".as_bytes())];
    let reply = session.execute(insert, values.into_iter()).unwrap();
    assert_eq!((reply.class, reply.affected), (Some(Class::Write), 1));
    let nulls = [Value::Int(2), Value::Null, Value::Null];
    session.execute(insert, nulls.into_iter()).unwrap();
    let reply = session.execute(select, [Value::Int(i64::MIN)].into_iter()).unwrap();
    assert_eq!((reply.rows, reply.columns), (1, 4));
    let expected = row(&["-9223372036854775808", "0.5", "dé'?", "text"]);
    assert_eq!(rows(&session, &mut RowCursor::default()), [expected]);
    session.execute(select, [Value::Int(2)].into_iter()).unwrap();
    let expected = vec![Some("2".into()), None, None, Some("null".into())];
    assert_eq!(rows(&session, &mut RowCursor::default()), [expected]);
    let reply = session.execute(select, [Value::Int(3)].into_iter()).unwrap();
    assert_eq!((reply.class, reply.rows, reply.columns), (Some(Class::Read), 0, 4));

    let error = session.execute(insert, [Value::Null].into_iter()).unwrap().error.unwrap();
    assert!(error.message.contains("3 placeholders, but 1 values"), "{error}");
    let error = session.execute(insert, nulls.into_iter()).unwrap().error.unwrap();
    assert_eq!((error.number, error.sqlstate.as_str()), (19, "23505"));
    assert!(session.close(insert).is_ok());
    assert!(session.execute(insert, nulls.into_iter()).is_err());
    assert!(session.prepare(b"SELEKT").1.error.is_some());
    assert!(session.prepare(b" ").1.error.is_some());
}

#[test]
fn a_lock_is_a_transient_error() {
    let (folder, mut holder) = fresh();
    ok(&mut holder, "CREATE TABLE t (a); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    assert!(holder.in_transaction());
    let mut other = try_open(&target(&folder.path().join("db"), &[])).unwrap();
    ok(&mut other, "BEGIN");
    let error = other.query(b"INSERT INTO t VALUES (2)").error.unwrap();
    assert_eq!((error.number, error.sqlstate.as_str(), error.transient), (5, "40001", true));
    assert!(other.in_transaction());
    ok(&mut other, "ROLLBACK");
    ok(&mut holder, "COMMIT");
    assert_eq!(ok(&mut other, "INSERT INTO t VALUES (2)").affected, 1);
}

#[test]
fn pragmas_are_applied_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let pragmas = [("journal_mode", "wal"), ("synchronous", "NORMAL"), ("cache_size", "-4000")];
    let mut session = try_open(&target(&path, &pragmas)).unwrap();
    for (pragma, expected) in
        [("journal_mode", "wal"), ("synchronous", "1"), ("cache_size", "-4000")]
    {
        ok(&mut session, &format!("PRAGMA {pragma}"));
        assert_eq!(rows(&session, &mut RowCursor::default()), [row(&[expected])]);
    }
    let message =
        |pragmas: &[(&str, &str)]| try_open(&target(&path, pragmas)).unwrap_err().to_string();
    assert!(message(&[("jurnal_mode", "wal")]).ends_with("has no pragma `jurnal_mode`"));
    assert!(message(&[("x; DROP TABLE t", "1")]).contains("has no pragma"));
    let said = "journal_mode is `wal`; expected `wall`";
    assert!(message(&[("journal_mode", "wall")]).ends_with(said));
    assert!(message(&[("cache_size", "(")]).contains("PRAGMA cache_size = (:"));
}

#[test]
fn what_is_no_database_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/db");
    let error = try_open(&target(&path, &[])).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    assert!(error.contains("unable to open database file"), "{error}");
}

#[test]
fn a_new_session_adopts_the_statements_of_a_dead_one() {
    let (folder, mut dead) = fresh();
    let closed = prepare(&mut dead, "SELECT 0");
    let add = prepare(&mut dead, "SELECT ? + 1");
    dead.close(closed).unwrap();
    let mut session = try_open(&target(&folder.path().join("db"), &[])).unwrap();
    assert_eq!(session.adopt(dead), Reply::default());
    session.execute(add, [Value::Int(1)].into_iter()).unwrap();
    assert_eq!(rows(&session, &mut RowCursor::default()), [row(&["2"])]);
}
