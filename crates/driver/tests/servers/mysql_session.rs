//! Sessions with a real MariaDB: authentication, statements, rows, errors, the end of a connection.

use crate::client::{Client, row};
use crate::mariadb_server::{Server, connect};
use driver::{Class, ConnectError, Form, Reply, RowCursor, Tally, Value};
use record::ServerTarget;

fn sqlstate_and_number(error: ConnectError) -> (String, i64) {
    match error {
        ConnectError::Refused { error, .. } => (error.sqlstate, error.number),
        other => panic!("not a refusal: {other}"),
    }
}

#[test]
fn passwords_are_checked_over_both_transports() {
    let Some(server) = Server::get() else { return };
    let unix = server.target();
    let tcp = ServerTarget { endpoints: vec![server.tcp()], ..unix.clone() };
    for target in [unix, tcp] {
        let mut client = connect(&target).unwrap();
        assert_eq!(client.value("SELECT substring_index(current_user(), '@', 1)"), "native");
        assert_eq!(client.value("SELECT version()"), client.version);
        assert_eq!(client.session.name(), "mysql");
        for password in [None, Some("wrong".into())] {
            let error = connect(&ServerTarget { password, ..target.clone() }).err().unwrap();
            assert_eq!(sqlstate_and_number(error), ("28000".into(), 1045));
        }
        let nowhere = ServerTarget { database: "nowhere".into(), ..target };
        let error = connect(&nowhere).err().unwrap();
        assert_eq!(sqlstate_and_number(error), ("42000".into(), 1049));
    }
}

#[test]
fn settings_of_sessions_are_set_or_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let with = |name: &str, value: &str| {
        let session = vec![(name.to_owned(), value.to_owned())];
        connect(&ServerTarget { session, ..server.target() })
    };

    let asks = "SELECT @@sort_buffer_size";
    assert_eq!(with("sort_buffer_size", "65536").unwrap().value(asks), "65536");
    let mut client = with("sql_mode", "ANSI_QUOTES").unwrap();
    assert_eq!(client.value("SELECT @@sql_mode"), "ANSI_QUOTES");
    let error = with("no_such_setting", "1").err().unwrap();
    assert_eq!(sqlstate_and_number(error).1, 1193);
}

#[test]
fn a_client_of_postgresqls_says_that_it_has_found_mysql() {
    let Some(server) = Server::get() else { return };
    let unix = server.target();
    let tcp = ServerTarget { endpoints: vec![server.tcp()], ..unix.clone() };
    for target in [unix, tcp] {
        let error =
            driver::connect(&record::Target::Postgresql(target), 0, crate::client::PATIENCE);
        let error = error.err().unwrap().to_string();
        assert!(
            error.ends_with(" is a MySQL or MariaDB server, not a PostgreSQL server"),
            "{error}"
        );
    }
}

#[test]
fn statements_are_classed_by_what_they_did() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let mut check = |sql: &str, class, affected| {
        let reply = client.ok(sql);
        assert_eq!((reply.class, reply.affected), (Some(class), affected), "{sql}");
    };
    check("CREATE TEMPORARY TABLE t (id int PRIMARY KEY, c text)", Class::Other, 0);
    check("INSERT INTO t VALUES (1, 'a'), (2, 'b')", Class::Write, 2);
    check("UPDATE t SET c = 'x' WHERE id = 9", Class::Other, 0);
    check("SELECT * FROM t WHERE id = 9", Class::Read, 0);
    check("BEGIN", Class::Other, 0);
    check("COMMIT", Class::Other, 0);
}

#[test]
fn one_text_may_hold_several_statements_and_result_sets() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let sql = "CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT a FROM t;
               SELECT 'x', NULL LIMIT 0; SELECT 1, NULL, '' UNION ALL SELECT 2, 'b', 'c'";
    for piece in [1, 7, 65_536] {
        client.piece = piece;
        let reply = client.ok(sql);
        assert_eq!(reply.tally, Tally { reads: 3, writes: 1, other: 1 });
        assert_eq!((reply.rows, reply.columns, reply.more), (2, 1, true));
        let mut cursor = RowCursor::default();
        assert_eq!(client.rows_of(&mut cursor), [row(&["1"]), row(&["2"])]);
        let second = client.session.next_result(&client.reply, &mut cursor).unwrap().unwrap();
        assert_eq!((second.rows, second.columns, second.more), (0, 2, true));
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
fn both_protocols_give_the_same_rows() {
    let Some(server) = Server::get() else { return };
    let plain = ServerTarget { prepared_statements: false, ..server.target() };
    let mut clients = [server.client(), connect(&plain).unwrap()];
    let sql = "SELECT CAST(? AS char), 10-?, ?+0e0, CAST(-1 AS unsigned), DATE'2024-02-29',
               TIMESTAMP'2024-02-29 01:02:03.5', TIME'-51:04:05', 1.50, '?', ?";
    for text in ["", "'", "\\", "''\\'", "a\nb", "? --", "é", "\\'; DROP TABLE t; --", "\0"] {
        let answers = clients.each_mut().map(|client| {
            let id = client.prepare(sql);
            let text = Value::Bytes(text.as_bytes());
            let values = [text, Value::Int(-5), Value::Double(0.25), Value::Null];
            let reply = client.execute(id, &values);
            assert_eq!(reply.error, None);
            let rows = client.rows();
            client.close(id);
            (reply, rows)
        });
        let mut expected = row(&[
            text,
            "15",
            "0.25",
            "18446744073709551615",
            "2024-02-29",
            "2024-02-29 01:02:03.5",
            "-51:04:05",
            "1.50",
            "?",
            "",
        ]);
        expected[9] = None;
        assert_eq!(answers[1].1, [expected.clone()]);
        // The binary protocol has no number of decimals: it always gives six, or none.
        expected[5] = Some("2024-02-29 01:02:03.500000".into());
        assert_eq!(answers[0].1, [expected]);
        assert_eq!(answers[0].0, answers[1].0);
    }
    let [client, _] = &mut clients;
    client.ok("DO 1");
    assert_eq!(client.value("SHOW STATUS LIKE 'Prepared_stmt_count'"), "Prepared_stmt_count");
    assert_eq!(client.rows()[0][1].as_deref(), Some("0"));
}

#[test]
fn statements_that_cannot_be_prepared_or_executed_say_why() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let (failed, reply) = client.try_prepare("SELEKT 1");
    assert_eq!(reply.error.unwrap().number, 1064);
    let select = client.prepare("SELECT ?");
    assert_eq!(select, failed, "the id of a failed statement is free again");
    assert_eq!(client.execute(select, &[]).error.unwrap().number, 1210);
    let reply = client.execute(select, &[Value::Int(5)]);
    assert_eq!((reply.error, reply.rows, reply.columns), (None, 1, 1));
    let insert = client.prepare("SET @a = 1");
    assert_eq!(client.execute(insert, &[]).class, Some(Class::Other));
}

#[test]
fn errors_come_with_their_code_and_leave_the_session_usable() {
    let Some(server) = Server::get() else { return };
    let (mut one, mut two) = (server.client(), server.client());
    let error = one.query("SELECT 1; SELECT * FROM missing; SELECT 2").error.unwrap();
    assert_eq!((error.code().as_str(), error.sqlstate.as_str()), ("1146", "42S02"));
    one.ok("CREATE TABLE pair (id int PRIMARY KEY, v int) ENGINE=InnoDB;
            INSERT INTO pair VALUES (1, 0), (2, 0)");
    one.ok("BEGIN; UPDATE pair SET v = 1 WHERE id = 1");
    assert!(one.session.in_transaction() && !one.session.in_failed_transaction());
    two.ok("BEGIN");
    let error = two.query("UPDATE pair SET v = 2 WHERE id = 1").error.unwrap();
    assert_eq!((error.number, error.transient, error.closes), (1205, true, false));
    one.ok("COMMIT");
    two.ok("ROLLBACK");
    assert!(!one.session.in_transaction() && !two.session.in_transaction());
    one.ok("DROP TABLE pair");
}

#[test]
fn a_killed_connection_ends() {
    let Some(server) = Server::get() else { return };
    let (mut victim, mut killer) = (server.client(), server.client());
    let number = victim.value("SELECT connection_id()");
    victim.send("SELECT sleep(600)");
    killer.ok(&format!("KILL {number}"));
    victim.wait_for_end();
}

#[test]
fn a_new_session_adopts_the_statements_of_a_dead_one() {
    let Some(server) = Server::get() else { return };
    for prepared_statements in [true, false] {
        let target = ServerTarget { prepared_statements, ..server.target() };
        let mut dead = connect(&target).unwrap();
        let add = dead.prepare("SELECT ? + ?");
        let closed = dead.prepare("SELECT 1");
        let set = dead.prepare("SET @a = 1");
        dead.close(closed);
        let mut fresh = connect(&target).unwrap();
        assert_eq!(fresh.adopt(dead.session), Reply::default());
        fresh.execute(add, &[Value::Int(2), Value::Int(3)]);
        assert_eq!(fresh.rows(), [row(&["5"])]);
        assert_eq!(fresh.execute(set, &[]).class, Some(Class::Other));
        assert_eq!(fresh.prepare("SELECT 2"), closed);
    }
    let mut dead = server.client();
    dead.ok("CREATE TEMPORARY TABLE gone (a int)");
    dead.prepare("SELECT * FROM gone");
    let kept = dead.prepare("SELECT 7");
    let mut fresh = server.client();
    assert_eq!(fresh.adopt(dead.session).error.unwrap().number, 1146);
    fresh.execute(kept, &[]);
    assert_eq!(fresh.rows(), [row(&["7"])]);
}

/// How many result sets of this session came without column definitions.
fn left_out(client: &mut Client) -> u32 {
    client.ok("SHOW SESSION STATUS LIKE 'Resultset_metadata_skipped'");
    client.rows()[0][1].as_ref().unwrap().parse().unwrap()
}

#[test]
fn columns_are_defined_again_only_when_they_have_changed() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client
        .ok("CREATE TABLE altered (id int PRIMARY KEY, c int); INSERT INTO altered VALUES (1, 7)");
    let select = client.prepare("SELECT * FROM altered WHERE id = ?");
    let one = [Value::Int(1)];
    let check = |client: &mut Client, expected: &[&str], skipped: u32| {
        let before = left_out(client);
        let reply = client.execute(select, &one);
        assert_eq!((reply.error, reply.rows), (None, 1));
        assert_eq!(usize::from(reply.columns), expected.len());
        assert_eq!(client.rows(), [row(expected)]);
        let size = client.reply.len();
        assert_eq!(left_out(client) - before, skipped);
        size
    };
    let short = check(&mut client, &["1", "7"], 1);
    client.ok("ALTER TABLE altered MODIFY c varchar(9)");
    let long = check(&mut client, &["1", "7"], 0);
    assert!(long > short + 80, "{long} bytes with definitions, {short} without");
    check(&mut client, &["1", "7"], 1);
    client.ok("ALTER TABLE altered ADD d bigint NOT NULL DEFAULT 9");
    // Nobody reads these rows, and the definitions that came with them hold.
    client.execute(select, &one);
    check(&mut client, &["1", "7", "9"], 1);
    client.ok("ALTER TABLE altered DROP c");
    check(&mut client, &["1", "9"], 0);
    client.ok("SET NAMES latin1");
    check(&mut client, &["1", "9"], 0);
    let mut fresh = server.client();
    assert_eq!(fresh.adopt(client.session), Reply::default());
    check(&mut fresh, &["1", "9"], 1);
    fresh.execute(select, &one);
    fresh.close(select);
    assert_eq!(fresh.rows(), [row(&["1", "9"])]);
    fresh.ok("DROP TABLE altered");
}

#[test]
fn parameters_of_a_procedure_are_read_beside_what_it_selects() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE PROCEDURE both_ways(IN a int, OUT b int, OUT c varchar(9))
               BEGIN SELECT 'x', a; SET b = a + 1, c = 'out'; END");
    let call = client.prepare("CALL both_ways(?, ?, ?)");
    for a in [1, 2, 3] {
        let reply = client.execute(call, &[Value::Int(a), Value::Null, Value::Null]);
        assert_eq!((reply.error, reply.columns, reply.more), (None, 2, true));
        let mut cursor = RowCursor::default();
        assert_eq!(client.rows_of(&mut cursor), [row(&["x", &a.to_string()])]);
        assert!(client.session.next_result(&client.reply, &mut cursor).unwrap().is_some());
        assert_eq!(client.rows_of(&mut cursor), [row(&[&(a + 1).to_string(), "out"])]);
    }
    client.ok("DROP PROCEDURE both_ways");
}

#[test]
fn what_can_not_be_prepared_is_sent_as_text() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let plain = client.prepare("PREPARE inner_one FROM 'SELECT 7'");
    let prepared = client.prepare("SELECT ?");
    let run = client.prepare("EXECUTE inner_one");
    for reconnects in [false, true] {
        if reconnects {
            let dead = std::mem::replace(&mut client, server.client());
            assert_eq!(client.adopt(dead.session), Reply::default());
        }
        assert_eq!(client.execute(plain, &[]).class, Some(Class::Other));
        client.execute(run, &[]);
        assert_eq!(client.rows(), [row(&["7"])]);
        client.execute(prepared, &[Value::Int(8)]);
        assert_eq!(client.rows(), [row(&["8"])]);
    }
    client.close(plain);
    assert_eq!(client.prepare("SELECT 9"), plain);
}

#[test]
fn big_rows_are_scanned_piece_by_piece() {
    let Some(server) = Server::get() else { return };
    server.client().ok("SET GLOBAL max_allowed_packet = 1 << 26");
    let mut client = server.client();
    // The second row is longer than a packet can be.
    let sql = "SELECT 1, repeat('x', 1000000) UNION ALL SELECT 2, repeat('y', 17000000)";
    client.piece = 100_000;
    let reply = client.ok(sql);
    assert_eq!((reply.rows, reply.columns), (2, 2));
    let sizes: Vec<_> = client.rows().iter().map(|row| row[1].as_ref().unwrap().len()).collect();
    assert_eq!(sizes, [1_000_000, 17_000_000]);
    client.send(sql);
    let (reply, most) = client.wait_and_discard();
    assert_eq!((reply.rows, reply.columns), (2, 2));
    assert!(most <= 2 * client.piece, "{most} bytes were held");
    let long = "z".repeat(17_000_000);
    assert_eq!(client.value(&format!("SELECT length('{long}')")), "17000000");
}

#[test]
fn a_load_stores_what_the_insert_would() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE loaded (id bigint, c varchar(60), y year, b bit(8),
                                    e enum('2', '1'), d date, n decimal(6, 2), x varbinary(60))");
    let rows = [
        r"(1, 'it''s', 0, 49, 1, '2024-02-29', -3, 'a\\b'), (-2, '\\', NULL, 1, 2, NULL, 4, '')",
        r"(3, 'a\tb\nc\rd\0e\bf\Zg\%h\_i\q', 70, NULL, 1, '2024-01-01', 0, 'NULL')",
        r"(4, '\\N', 1999, 255, 2, '2024-01-01', NULL, '\\\\')",
        "(5, '\t\n\r\u{1}', 0, 0, 1, '2024-01-01', 7, '\0')",
        "(6, '', 2024, 7, 2, '2024-01-01', 7, '0')",
        "(NULL, '', NULL, NULL, NULL, NULL, NULL, NULL)",
    ];
    for values in rows {
        let sql = format!("INSERT INTO loaded(id, c, y, b, e, d, n, x) VALUES {values}");
        client.ok(&sql);
        let sql = sql.replace("INTO loaded", "INTO `d`.loaded");
        let reply = client.load(&sql).expect(values);
        assert_eq!(reply.error, None, "{values}");
        assert_eq!(reply.tally, Tally { writes: 1, ..Tally::default() });
    }
    client.ok(
        "SELECT count(*), count(DISTINCT id, hex(c), ifnull(y, -1), ifnull(b + 0, -1), e + 0,
                                ifnull(d, 0), ifnull(n, -1), hex(x))
         FROM loaded WHERE id IS NOT NULL",
    );
    assert_eq!(client.rows(), [row(&["12", "6"])]);
    assert_eq!(client.value("SELECT count(*) FROM loaded WHERE id IS NULL AND c = ''"), "2");
    client.ok("DROP TABLE loaded");
}

#[test]
fn a_batch_stores_what_the_insert_would() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    let columns =
        "(id bigint, t tinyint unsigned, n decimal(6, 2), c char(60) CHARACTER SET latin1,
                    v varchar(60) CHARACTER SET utf8mb4, x text)";
    client.ok(&format!("CREATE TABLE inserted {columns}; CREATE TABLE executed {columns}"));
    let long = format!("(7, 0, 0, '', '', '{}')", "x".repeat(60_000));
    let rows = [
        r"(1, 255, -3, 'it''s', 'a\\b', 'a\tb\nc\rd\0e\bf\Zg\%h\_i\q'), (-2, 0, 4, '\\', '', NULL)",
        "(9223372036854775807, NULL, 0, '5', '1.50', '\t\n\r\u{1}'), (NULL, 1, NULL, '\0', '', '')",
        "(1, 1, 1, 5, -6, 7), (NULL, NULL, NULL, NULL, NULL, 8)",
        "('12', '3', '4.567', 'a', 'b', 'c')",
        "(NULL, NULL, NULL, NULL, NULL, NULL)",
        &long,
    ];
    for values in rows {
        client.ok(&format!("INSERT INTO inserted VALUES {values}"));
        for table in ["executed", "executed(id, t, n, c, v, x)"] {
            let sql = format!("INSERT INTO {table} VALUES {values}");
            let reply = client.load_into(&sql, &[Form::Text]).expect(values);
            assert_eq!(reply.error, None, "{values:.90}");
            assert_eq!(reply.tally, Tally { writes: 1, ..Tally::default() });
        }
    }
    assert_eq!(client.value("SHOW SESSION STATUS LIKE 'Com_load'"), "Com_load");
    assert_eq!(client.rows()[0][1].as_deref(), Some("0"));
    let stored =
        |table| format!("SELECT id, t, n, hex(c), hex(v), hex(x) FROM {table} ORDER BY 1, 2, 4");
    client.ok(&stored("inserted"));
    let expected: Vec<_> = client.rows().into_iter().flat_map(|row| [row.clone(), row]).collect();
    client.ok(&stored("executed"));
    assert_eq!(client.rows(), expected);
    client.ok("DROP TABLE inserted; DROP TABLE executed");
}

#[test]
fn a_batch_that_the_server_refuses_is_an_error() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE refusing (id int PRIMARY KEY, c char(3)) ENGINE=InnoDB");
    let load = |client: &mut Client, values: &str| {
        client
            .load_into(&format!("INSERT INTO refusing(id, c) VALUES {values}"), &[Form::Text])
            .unwrap()
    };
    assert_eq!(load(&mut client, "(1, 'a'), (2, 'b')").error, None);
    for (values, number) in [
        ("(4, 'x'), (2, 'x')", 1062),
        ("(4, 'x'), (3, 'long')", 1406),
        ("(4, 'x'), (9999999999, '')", 1264),
    ] {
        let error = load(&mut client, values).error.expect(values);
        assert_eq!(error.number, number, "{values}: {error}");
        assert!(!client.session.refused_load());
    }
    assert_eq!(client.value("SELECT count(*) FROM refusing"), "2", "all rows of a batch or none");
    client.ok("DROP TABLE refusing; CREATE TABLE refusing (id int, c varchar(3))");
    assert_eq!(load(&mut client, "(4, 'x')").error, None, "the table is another one now");
    client.ok("DROP TABLE refusing");
    assert_eq!(load(&mut client, "(4, 'x')").error.unwrap().number, 1146);
    assert!(!client.session.refused_load());
    let missing =
        client.load_into("INSERT INTO refusing(nowhere) VALUES ('1')", &[Form::Text]).unwrap();
    assert_eq!(missing.error.unwrap().number, 1146);
    assert!(client.session.refused_load(), "it was not even prepared");
}

#[test]
fn a_load_that_the_server_refuses_or_bends_is_an_error() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE bent (id int PRIMARY KEY, c char(3)) ENGINE=InnoDB");
    let load = |client: &mut Client, values: &str| {
        client.load(&format!("INSERT INTO bent(id, c) VALUES {values}"))
    };
    assert_eq!(load(&mut client, "(1, 'a'), (2, 'b')").unwrap().error, None);
    for (values, number) in [("(2, 'x')", 1062), ("(3, 'long')", 1265), ("(9999999999, '')", 1264)]
    {
        let error = load(&mut client, values).unwrap().error.expect(values);
        assert_eq!(error.number, number, "{values}: {error}");
        assert!(!client.session.refused_load());
    }
    let missing = client.load("INSERT INTO bent(nowhere) VALUES ('1')").unwrap();
    assert_eq!(missing.error.unwrap().number, 1054);
    assert!(client.session.refused_load());
    client.ok("ROLLBACK; TRUNCATE bent; START TRANSACTION");
    let error = load(&mut client, "(4, 'x'), (5, 'long')").unwrap().error;
    assert_eq!((error.unwrap().number, client.session.load_warnings()), (1265, 1));
    client.ok("ROLLBACK");
    assert_eq!(client.value("SELECT count(*) FROM bent"), "0", "what is bent can be undone");
    client.ok("SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    assert!(load(&mut client, "(4, 'x')").is_none(), "a backslash is no escape");
    client.ok("DROP TABLE bent");
}

#[test]
fn compressed_sessions_carry_everything() {
    let Some(server) = Server::get() else { return };
    let plain = server.target();
    server.client().ok("SET GLOBAL max_allowed_packet = 1 << 26");
    let target = ServerTarget { compression: Some("zlib".into()), ..plain.clone() };
    let mut client = connect(&target).unwrap();
    client.ok("SHOW STATUS LIKE 'Compression'");
    assert_eq!(client.rows()[0][1].as_deref(), Some("ON"));
    for size in [0, 10, 49, 50, 1000, 3_000_000, 17_000_000] {
        let text = "long ".repeat(size / 5);
        assert_eq!(client.value(&format!("SELECT '{text}'")), text, "{size}");
    }
    let select = client.prepare("SELECT ?");
    let other = client.prepare("SELECT 2");
    client.close(other);
    client.execute(select, &[Value::Int(5)]);
    assert_eq!(client.rows(), [row(&["5"])]);
    client.ok("CREATE TABLE packed (id int PRIMARY KEY, c varchar(500))");
    let rows: Vec<_> = (0..5000).map(|id| format!("({id}, '{}')", "x".repeat(id % 500))).collect();
    let reply =
        client.load(&format!("INSERT INTO packed(id, c) VALUES {}", rows.join(","))).unwrap();
    assert_eq!((reply.error, reply.affected), (None, 5000));
    assert_eq!(client.value("SELECT sum(length(c) = id % 500) FROM packed"), "5000");
    client.piece = 11;
    assert_eq!(client.query("SELECT * FROM packed WHERE id < 400").rows, 400);
    assert_eq!(client.fails("SELECT * FROM nowhere"), "42S02");
    client.ok("DROP TABLE packed");
    for (name, said) in [
        ("zstd", "the server does not offer compression by zstd"),
        ("lz4", "compression `lz4` is not supported; `zlib` and `zstd` are"),
    ] {
        let target = ServerTarget { compression: Some(name.into()), ..plain.clone() };
        let error = connect(&target).err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
}
