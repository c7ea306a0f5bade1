//! Sessions with a real PostgreSQL: statements, rows, errors, and the end of a connection.

use crate::client::{Client, row};
use crate::postgres_server::Server;
use driver::{Class, Form, Reply, RowCursor, StatementId, Tally, Value};
use record::ServerTarget;

#[test]
fn statements_are_classed_by_what_they_did() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let mut check = |sql: &str, class, affected| {
        let reply = client.ok(sql);
        assert_eq!((reply.class, reply.affected), (Some(class), affected), "{sql}");
    };
    check("CREATE TEMP TABLE t (id int PRIMARY KEY, c text)", Class::Other, 0);
    check("INSERT INTO t SELECT g, 'x' FROM generate_series(1, 10) g", Class::Write, 10);
    check("UPDATE t SET c = 'y' WHERE id > 7", Class::Write, 3);
    check("UPDATE t SET c = 'y' WHERE id > 70", Class::Other, 0);
    check("DELETE FROM t WHERE id = 1 RETURNING id", Class::Read, 1);
    check("SELECT * FROM t WHERE false", Class::Read, 0);
    check("CREATE TEMP TABLE u AS SELECT * FROM t", Class::Write, 9);
    check("BEGIN", Class::Other, 0);
    check("COMMIT", Class::Other, 0);
    check("SHOW timezone", Class::Read, 0);
    check("COPY t TO STDOUT", Class::Other, 0);
    assert_eq!(client.ok(""), Reply::default());
    assert_eq!(client.ok("-- nothing"), Reply::default());
}

#[test]
fn one_text_may_hold_several_statements_and_result_sets() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let sql = "CREATE TEMP TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT a FROM t;
               SELECT 'x', NULL WHERE false; SELECT 1, NULL, '' UNION ALL SELECT 2, 'b', 'c'";
    for piece in [1, 7, 65_536] {
        client.piece = piece;
        let reply = client.ok(sql);
        assert_eq!(reply.tally, Tally { reads: 3, writes: 1, other: 1 });
        assert_eq!((reply.class, reply.affected), (Some(Class::Other), 2));
        assert_eq!((reply.rows, reply.columns, reply.more), (2, 1, true));
        let mut cursor = RowCursor::default();
        assert_eq!(client.rows_of(&mut cursor), [row(&["1"]), row(&["2"])]);
        let second = client.session.next_result(&client.reply, &mut cursor).unwrap().unwrap();
        assert_eq!((second.rows, second.columns, second.more), (0, 2, true));
        assert_eq!(second.tally, Tally::default());
        assert!(client.rows_of(&mut cursor).is_empty());
        let third = client.session.next_result(&client.reply, &mut cursor).unwrap().unwrap();
        assert_eq!((third.rows, third.columns, third.more), (2, 3, false));
        let expected = [vec![Some("1".into()), None, Some(String::new())], row(&["2", "b", "c"])];
        assert_eq!(client.rows_of(&mut cursor), expected);
        assert_eq!(client.session.next_result(&client.reply, &mut cursor), Ok(None));
        client.ok("DROP TABLE t");
    }
}

#[test]
fn the_second_result_set_can_be_had_without_reading_the_first() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("SELECT 1; SELECT 2");
    let mut cursor = RowCursor::default();
    assert!(client.session.next_result(&client.reply, &mut cursor).unwrap().is_some());
    assert_eq!(client.rows_of(&mut cursor), [row(&["2"])]);
}

#[test]
fn prepared_statements_take_values_of_every_kind() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TEMP TABLE t (id bigint, d float8, c text)");
    let insert = client.prepare("INSERT INTO t (id, d, c) VALUES (?, ?, ?)");
    let select = client.prepare("SELECT id, d, c FROM t WHERE id = ?");
    let values = [Value::Int(i64::MIN), Value::Double(-1.5e300), Value::Bytes("dé'\\".as_bytes())];
    let reply = client.execute(insert, &values);
    assert_eq!((reply.class, reply.affected, reply.columns), (Some(Class::Write), 1, 0));
    client.execute(insert, &[Value::Int(2), Value::Null, Value::Null]);
    let reply = client.execute(select, &[Value::Int(i64::MIN)]);
    assert_eq!((reply.class, reply.rows, reply.columns), (Some(Class::Read), 1, 3));
    assert_eq!(reply.tally, Tally { reads: 1, ..Tally::default() });
    assert_eq!(client.rows(), [row(&["-9223372036854775808", "-1.5e+300", "dé'\\"])]);
    client.execute(select, &[Value::Int(2)]);
    assert_eq!(client.rows(), [vec![Some("2".into()), None, None]]);
    let reply = client.execute(select, &[Value::Int(3)]);
    assert_eq!((reply.class, reply.rows, reply.columns), (Some(Class::Read), 0, 3));
    assert!(client.rows().is_empty());
}

#[test]
fn statements_that_cannot_be_prepared_or_executed_say_why() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let (_, reply) = client.try_prepare("SELEKT 1");
    assert_eq!(reply.error.unwrap().sqlstate, "42601");
    assert_eq!(reply.tally, Tally::default());
    let select = client.prepare("SELECT ?::int");
    assert_eq!(select, StatementId(0), "the id of a failed statement is free again");
    let reply = client.execute(select, &[]);
    assert_eq!(reply.error.unwrap().sqlstate, "08P01");
    let reply = client.execute(select, &[Value::Bytes(b"x")]);
    assert_eq!(reply.error.unwrap().sqlstate, "22P02");
    let reply = client.execute(select, &[Value::Int(5)]);
    assert_eq!((reply.error, reply.rows), (None, 1));
    client.close(select);
    let other = client.prepare("SELECT 7");
    assert_eq!(other, select);
    client.execute(other, &[]);
    assert_eq!(client.rows(), [row(&["7"])]);
}

#[test]
fn plain_text_gives_what_prepared_statements_give() {
    let Some(server) = Server::get() else { return };
    let plain = ServerTarget { prepared_statements: false, ..server.target("trusty") };
    let mut clients = [server.client(), crate::postgres_server::connect(&plain).unwrap()];
    let texts = ["", "'", "\\", "''\\'", "a\nb", "$1 ? --", "é", "E'", "\\'; DROP TABLE t; --"];
    for setting in ["on", "off"] {
        for text in texts {
            let answers = clients.each_mut().map(|client| {
                client.ok(&format!("SET standard_conforming_strings = {setting}"));
                let sql = "SELECT ?::text, 10-?::int, ?::float8, ?::text, '?' WHERE 1=?AND true";
                let id = client.prepare(sql);
                let values = [
                    Value::Bytes(text.as_bytes()),
                    Value::Int(-5),
                    Value::Double(f64::NEG_INFINITY),
                    Value::Null,
                    Value::Int(1),
                ];
                let reply = client.execute(id, &values);
                assert_eq!(reply.error, None);
                let rows = client.rows();
                client.close(id);
                (reply, rows)
            });
            let mut expected = row(&[text, "15", "-Infinity", "", "?"]);
            expected[3] = None;
            assert_eq!(answers[0].1, [expected]);
            assert_eq!(answers[0], answers[1]);
        }
    }
    let [_, client] = &mut clients;
    let id = client.prepare("SELECT ?");
    assert_eq!(client.execute(id, &[]).error.unwrap().sqlstate, "08P01");
    assert_eq!(client.value("SELECT count(*) FROM pg_prepared_statements"), "0");
}

#[test]
fn errors_come_with_their_code_and_leave_the_session_usable() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TEMP TABLE t (id int PRIMARY KEY)");
    let reply = client.query("INSERT INTO t VALUES (1); SELECT 1; SELECT * FROM missing; SELECT 2");
    let error = reply.error.unwrap();
    assert_eq!((error.code().as_str(), error.transient, error.closes), ("42P01", false, false));
    assert_eq!(error.message, "relation \"missing\" does not exist");
    assert_eq!(reply.tally, Tally { reads: 1, writes: 1, other: 0 });
    assert!(!client.session.in_transaction());
    client.ok("INSERT INTO t VALUES (1)");
    let error = client.query("INSERT INTO t VALUES (1)").error.unwrap();
    assert_eq!((error.sqlstate.as_str(), error.transient), ("23505", true));
}

#[test]
fn a_failed_transaction_is_told_until_it_is_rolled_back() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("BEGIN");
    assert!(client.session.in_transaction() && !client.session.in_failed_transaction());
    assert_eq!(client.fails("SELECT 1/0"), "22012");
    assert!(client.session.in_transaction() && client.session.in_failed_transaction());
    assert_eq!(client.fails("SELECT 1"), "25P02");
    let (_, reply) = client.try_prepare("SELECT 1");
    assert_eq!(reply.error.unwrap().sqlstate, "25P02");
    client.ok("ROLLBACK");
    assert!(!client.session.in_transaction() && !client.session.in_failed_transaction());
}

#[test]
fn a_serialisation_failure_and_a_deadlock_are_transient() {
    let Some(server) = Server::get() else { return };
    let (mut one, mut two) = (server.client(), server.client());
    one.ok("CREATE TABLE pair (id int PRIMARY KEY, v int); INSERT INTO pair VALUES (1, 0), (2, 0)");
    for client in [&mut one, &mut two] {
        client.ok("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM pair");
    }
    one.ok("UPDATE pair SET v = 1; COMMIT");
    let error = two.query("UPDATE pair SET v = 2").error.unwrap();
    assert_eq!((error.sqlstate.as_str(), error.transient), ("40001", true));
    two.ok("ROLLBACK");
    one.ok("BEGIN; UPDATE pair SET v = 3 WHERE id = 1");
    two.ok("BEGIN; UPDATE pair SET v = 3 WHERE id = 2");
    one.send("UPDATE pair SET v = 4 WHERE id = 2");
    two.send("UPDATE pair SET v = 4 WHERE id = 1");
    // Either may be the victim; the other goes on once the victim has rolled back.
    let second = std::thread::spawn(move || {
        let reply = two.wait().unwrap();
        two.ok("ROLLBACK");
        reply.error
    });
    let first = one.wait().unwrap().error;
    one.ok("ROLLBACK");
    let errors: Vec<_> = [first, second.join().unwrap()].into_iter().flatten().collect();
    assert!(!errors.is_empty());
    assert!(errors.iter().all(|error| error.sqlstate == "40P01" && error.transient));
    one.ok("DROP TABLE pair");
}

#[test]
fn a_killed_connection_ends_with_the_servers_last_word() {
    let Some(server) = Server::get() else { return };
    let (mut victim, mut killer) = (server.client(), server.client());
    let kill = |victim: &mut Client| {
        let pid = victim.value("SELECT pg_backend_pid()");
        move |killer: &mut Client| killer.ok(&format!("SELECT pg_terminate_backend({pid})"))
    };
    // While idle: the word is there before the next request, and its reply is not waited for.
    kill(&mut victim)(&mut killer);
    let error = victim.wait().unwrap().error.unwrap();
    assert_eq!((error.sqlstate.as_str(), error.closes), ("57P01", true));
    // Within a statement.
    let mut victim = server.client();
    let kill = kill(&mut victim);
    victim.send("SELECT pg_sleep(600)");
    kill(&mut killer);
    let error = victim.wait().unwrap().error.unwrap();
    assert_eq!((error.sqlstate.as_str(), error.closes), ("57P01", true));
}

#[test]
fn a_new_session_adopts_the_statements_of_a_dead_one() {
    let Some(server) = Server::get() else { return };
    for prepared_statements in [true, false] {
        let target = ServerTarget { prepared_statements, ..server.target("trusty") };
        let mut dead = crate::postgres_server::connect(&target).unwrap();
        let add = dead.prepare("SELECT ?::int + ?::int");
        let closed = dead.prepare("SELECT 1");
        let set = dead.prepare("SET work_mem = '4MB'");
        dead.close(closed);
        let mut fresh = crate::postgres_server::connect(&target).unwrap();
        assert_eq!(fresh.adopt(dead.session), Reply::default());
        assert_eq!(fresh.execute(add, &[Value::Int(2), Value::Int(3)]).columns, 1);
        assert_eq!(fresh.rows(), [row(&["5"])]);
        let reply = fresh.execute(set, &[]);
        assert_eq!((reply.class, reply.columns), (Some(Class::Other), 0));
        assert_eq!(fresh.prepare("SELECT 2"), closed);
    }
    let mut dead = server.client();
    dead.ok("CREATE TEMP TABLE gone (a int)");
    dead.prepare("SELECT 1");
    dead.prepare("SELECT * FROM gone");
    let error = server.client().adopt(dead.session).error.unwrap();
    assert_eq!(error.sqlstate, "42P01");
}

#[test]
fn notices_and_settings_may_come_between() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("LISTEN bell");
    let sql = "SELECT 1; DO $$ BEGIN RAISE NOTICE 'hear, hear'; END $$; SET timezone = 'UTC';
               NOTIFY bell; SELECT 2";
    let reply = client.ok(sql);
    assert_eq!(reply.tally, Tally { reads: 2, writes: 0, other: 3 });
    assert_eq!(client.rows(), [row(&["1"])]);
    server.client().ok("NOTIFY bell");
    assert_eq!(client.value("SELECT 3"), "3");
}

#[test]
fn big_rows_are_scanned_piece_by_piece() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let sql = "SELECT g, repeat('x', 1000000) FROM generate_series(1, 5) g";
    client.piece = 10_000;
    let reply = client.ok(sql);
    assert_eq!((reply.rows, reply.columns), (5, 2));
    assert!(client.reply.len() > 5_000_000);
    let rows = client.rows();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[4][1].as_ref().unwrap().len(), 1_000_000);

    client.send(sql);
    let (reply, most) = client.wait_and_discard();
    assert_eq!((reply.rows, reply.columns, reply.tally.reads), (5, 2, 1));
    assert!(most <= 2 * client.piece, "{most} bytes were held");
    let error = client.session.row(&client.reply, &mut RowCursor::default(), |_| ());
    assert_eq!(error.unwrap_err().to_string(), "the reply's bytes were discarded");
    assert_eq!(client.value("SELECT 1"), "1");
}

#[test]
fn requests_out_of_turn_are_the_callers_fault() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let id = client.prepare("SELECT 1");
    client.send("SELECT pg_sleep(0)");
    let mut out = Vec::new();
    let session = &mut client.session;
    assert!(session.query(b"SELECT 1", &mut out).is_err());
    assert!(session.prepare(b"SELECT 1", &mut out).is_err());
    assert!(session.execute(id, std::iter::empty(), &mut out).is_err());
    assert!(session.close_statement(id, &mut out).is_err());
    assert!(out.is_empty());
    client.wait().unwrap();
    client.close(id);
    assert!(client.session.execute(id, std::iter::empty(), &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn a_zero_byte_is_an_error_and_not_the_end_of_the_text() {
    let Some(server) = Server::get() else { return };
    let plain = ServerTarget { prepared_statements: false, ..server.target("trusty") };
    for mut client in [server.client(), crate::postgres_server::connect(&plain).unwrap()] {
        assert_eq!(client.fails("SELECT 1\0; SELECT 2"), "08P01");
        let id = client.prepare("SELECT ?::text");
        let error = client.execute(id, &[Value::Bytes(b"a\0b")]).error.unwrap();
        assert!(["22021", "08P01"].contains(&error.sqlstate.as_str()), "{error}");
        assert_eq!(client.value("SELECT 1"), "1");
    }
    let (_, reply) = server.client().try_prepare("SELECT 1\0garbage");
    assert_eq!(reply.error.unwrap().sqlstate, "08P01");
}

#[test]
fn copy_from_standard_input_is_no_query() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TEMP TABLE t (a int)");
    let error = client.try_query("COPY t FROM STDIN").unwrap_err();
    assert!(error.to_string().contains("not supported in statement text"), "{error}");
}

#[test]
fn a_load_stores_what_the_insert_would() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TEMPORARY TABLE loaded (id bigint, c text, n numeric, d date, b boolean)");
    let rows = [
        "(1, 'it''s', -2.50, '2024-02-29', 'yes'), (-3, '''', 7, NULL, NULL)",
        "(2, 'a\tb\nc\rd', 0.1, '2024-01-01', 'f'), (NULL, NULL, NULL, NULL, NULL)",
        "(9223372036854775807, '', 12345678901234567890, '2024-01-01', 't'), \
         (5, 'é', 0, NULL, 't')",
    ];
    for values in rows {
        let sql = format!("INSERT INTO loaded(id, c, n, d, b) VALUES {values}");
        client.ok(&sql);
        let forms = [Form::Integer(8), Form::Text, Form::Number, Form::Quoted, Form::Quoted];
        let reply = client.load_into(&sql, &forms).expect(values);
        assert_eq!((reply.error, reply.affected, reply.columns), (None, 2, 0), "{values}");
        assert_eq!(reply.tally, Tally { writes: 1, ..Tally::default() });
    }
    client.ok("SELECT count(*), count(DISTINCT loaded) FROM loaded");
    assert_eq!(client.rows(), [row(&["12", "6"])]);
}

#[test]
fn a_load_in_binary_stores_what_the_insert_would() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok(
        "CREATE TEMPORARY TABLE loaded (a int2, b int, c bigint, d text, e varchar(5), f char(5))",
    );
    let integers = [2, 4, 8].map(Form::Integer);
    let forms = [&integers[..], &[Form::Text; 3]].concat();
    let rows = [
        "(1, -2147483648, 9223372036854775807, 'it''s é', '', 'a'), (-1, 0, -1, '''', 'a  ', '')",
        "(-32768, 2147483647, -9223372036854775808, '\t\n', 'éééé', 'ééé  '), \
         (NULL, NULL, NULL, NULL, NULL, NULL)",
        "(32767, 7, 7, 12, 345, -6), (0, 0, 0, NULL, 'x', NULL)",
    ];
    for values in rows {
        let sql = format!("INSERT INTO loaded VALUES {values}");
        client.ok(&sql);
        let reply = client.load_into(&sql, &forms).expect(values);
        assert_eq!((reply.error, reply.affected, reply.columns), (None, 2, 0), "{values}");
    }
    client.ok("SELECT count(*), count(DISTINCT loaded::text) FROM loaded");
    assert_eq!(client.rows(), [row(&["12", "6"])]);
    let long = "INSERT INTO loaded VALUES (0, 0, 0, '', 'abcdef', '')";
    assert_eq!(client.fails(long), "22001");
    assert_eq!(client.load_into(long, &forms).unwrap().error.unwrap().sqlstate, "22001");
    assert!(client.session.refused_load());
    assert_eq!(client.value("SELECT count(*) FROM loaded"), "12");
}

#[test]
fn a_load_that_fails_can_still_be_an_insert() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TEMPORARY TABLE whole (id int PRIMARY KEY)");
    let load = |client: &mut Client, values: &str| {
        client.load_into(&format!("INSERT INTO whole VALUES {values}"), &[Form::Integer(4)])
    };
    assert!(load(&mut client, "(1), (2.7)").is_none(), "an INSERT rounds it, a COPY does not");
    let reply = load(&mut client, "(1), ('2.7')").unwrap();
    assert_eq!(reply.error.unwrap().sqlstate, "22P02");
    assert!(client.session.refused_load());
    client.ok("INSERT INTO whole VALUES (1), (2.7)");
    assert!(!client.session.refused_load());
    let twice = load(&mut client, "(4), (3)").unwrap();
    assert_eq!(twice.error.unwrap().sqlstate, "23505");
    assert_eq!(client.value("SELECT count(*) FROM whole"), "2");
    client.ok("BEGIN");
    assert!(load(&mut client, "(5)").is_none(), "a transaction is open");
    client.ok("ROLLBACK");
}
