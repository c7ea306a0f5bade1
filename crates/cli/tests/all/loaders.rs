//! Tables filled over several connections: the same rows, under the same numbers, however many.

use crate::client::Client;
use crate::program::{Ended, Folder, run, spec};
use record::{Record, Target};
use serde_json::{Value, json};

const ROWS: u64 = 40_000;

/// Two tables by two clients: one whose rows the server would number, one with 64-bit keys.
const LOADER: &str = r##"
    sysbench.cmdline.options = { id = { "how the server numbers rows", "SERIAL PRIMARY KEY" } }

    local function numbered(con)
      con:query("CREATE TABLE numbered (id " .. sysbench.opt.id .. ", k int, c varchar(200))")
      con:bulk_insert_init("INSERT INTO numbered(k, c) VALUES")
      for i = 1, 40000 do
        con:bulk_insert_next(("(%d, 'a) it''s %s')"):format(sysbench.rand.uniform(1, 40000),
          sysbench.rand.string(("#"):rep(60))))
      end
      con:bulk_insert_done()
    end

    local function wide(con)
      con:query("CREATE TABLE wide (id bigint PRIMARY KEY, k int)")
      con:bulk_insert_init("INSERT INTO wide VALUES")
      for i = 0, 39999 do
        con:bulk_insert_next(("(%s, %d)"):format(
          tostring(9223372036854735807LL + i):sub(1, -3), sysbench.rand.uniform(1, 9)))
      end
      con:bulk_insert_done()
    end

    local function prepare()
      local con = sysbench.sql.driver():connect()
      con:query(sysbench.sql.driver():name() == "pgsql" and "SET search_path = public"
        or "SET sql_mode = 'STRICT_ALL_TABLES'")
      if sysbench.tid == 0 then numbered(con) else wide(con) end
    end

    sysbench.cmdline.commands = { prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND } }
    function event() end
"##;

fn load(target: &Target, script: &str, group: &Value, loaders: u32) -> Ended {
    let folder =
        Folder::new(if matches!(target, Target::Mysql(_)) { "fleet-my" } else { "fleet-pg" });
    let script = folder.script("loader.lua", script);
    let mut spec = spec(&script, json!({"command": "prepare", "loaders": loaders}));
    if loaders == 0 {
        spec["load"] = json!("insert");
    }
    spec["target"] = json!(target);
    for (name, value) in group.as_object().unwrap() {
        spec["groups"][0][name] = value.clone();
    }
    run(&spec)
}

/// Loads both tables with so many loaders; what is stored, and the number of the next row.
#[track_caller]
fn fill(
    client: &mut Client,
    target: &Target,
    digests: [&str; 2],
    id: &str,
    loaders: u32,
) -> String {
    let group = json!({"clients": 2, "options": {"id": id}});
    let ended = load(target, LOADER, &group, loaders);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.summary().total.errors, 0);
    assert_eq!(ended.rows_loaded(), 2 * ROWS, "the last word on progress is the truth");
    let loaded = ended.records.iter().filter_map(|record| match record {
        Record::Loaded(loaded) => Some((loaded.table.as_str(), loaded.rows)),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), [("numbered", ROWS), ("wide", ROWS)]);
    assert_eq!(client.value("SELECT count(*) FROM numbered"), ROWS.to_string());
    assert_eq!(client.value("SELECT max(id) FROM numbered"), ROWS.to_string());
    let stored = digests.map(|digest| client.value(digest)).join(" ");
    client.ok("INSERT INTO numbered(k, c) VALUES (0, 'next')");
    let next = client.value("SELECT id FROM numbered WHERE c = 'next'");
    assert_eq!(next, (ROWS + 1).to_string(), "{loaders} loaders");
    client.ok("DROP TABLE numbered");
    client.ok("DROP TABLE wide");
    stored
}

#[test]
fn mariadb_stores_the_same_at_any_number_of_loaders() {
    let Some(server) = crate::mariadb_server::Server::get() else { return };
    let mut client = server.client();
    let target = Target::Mysql(server.target());
    let digests = [
        "SELECT md5(group_concat(id, ' ', k, ' ', c ORDER BY id)) FROM numbered",
        "SELECT md5(group_concat(id, ' ', k ORDER BY id)) FROM wide",
    ];
    client.ok("SET SESSION group_concat_max_len = 100000000");
    let id = "int NOT NULL AUTO_INCREMENT PRIMARY KEY";
    // As INSERTs over the script's own connection: what the server itself makes of the rows.
    let one = fill(&mut client, &target, digests, id, 0);
    for loaders in [1, 2, 4, 8] {
        assert_eq!(fill(&mut client, &target, digests, id, loaders), one, "{loaders} loaders");
    }
}

#[test]
fn postgresql_stores_the_same_at_any_number_of_loaders() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    let target = Target::Postgresql(server.target("trusty"));
    let digests = [
        "SELECT md5(string_agg(numbered::text, ',' ORDER BY id)) FROM numbered",
        "SELECT md5(string_agg(wide::text, ',' ORDER BY id)) FROM wide",
    ];
    let serial = "bigserial PRIMARY KEY";
    // No loader: what the server itself makes of the rows.
    let one = fill(&mut client, &target, digests, serial, 0);
    for loaders in [1, 2, 4, 8] {
        let found = fill(&mut client, &target, digests, serial, loaders);
        assert_eq!(found, one, "{loaders} loaders");
    }
    let identity = "int GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    assert_eq!(fill(&mut client, &target, digests, identity, 4), one);
}

/// One of many batches can't be stored.
const SPOILT: &str = r#"
    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE spoilt (id int PRIMARY KEY, c varchar(90))")
      con:bulk_insert_init("INSERT INTO spoilt(id, c) VALUES")
      for i = 1, 40000 do
        con:bulk_insert_next(("(%d, '%s')"):format(i == 20000 and 1 or i, ("x"):rep(80)))
      end
      con:bulk_insert_done()
      print("never reached")
    end
    function event() end
"#;

#[track_caller]
fn check_spoilt(client: &mut Client, target: &Target, why: &str) {
    let ended = load(target, SPOILT, &json!({}), 3);
    client.ok("DROP TABLE spoilt");
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    let said = &ended.stderr;
    assert!(said.contains("rows of `INSERT INTO spoilt(id, c) VALUES …` was not loaded"), "{said}");
    assert!(said.contains(why), "{said}");
    assert!(said.contains("prepare it anew"), "{said}");
    assert_eq!(ended.summary().total.errors, 1);
}

#[test]
fn a_batch_that_fails_fails_the_command() {
    if let Some(server) = crate::postgres_server::Server::get() {
        let target = Target::Postgresql(server.target("trusty"));
        check_spoilt(&mut server.client(), &target, "duplicate key");
    }
    if let Some(server) = crate::mariadb_server::Server::get() {
        check_spoilt(&mut server.client(), &Target::Mysql(server.target()), "Duplicate entry");
    }
}

/// The same in a table whose rows the server numbers.
const SPOILT_NUMBERED: &str = r#"
    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE spoilt (id bigserial PRIMARY KEY, c varchar(90) UNIQUE)")
      con:bulk_insert_init("INSERT INTO spoilt(c) VALUES")
      for i = 1, 60000 do
        con:bulk_insert_next(("('%s%d')"):format(("x"):rep(70), i == 30000 and 1 or i))
      end
      con:bulk_insert_done()
    end
    function event() end
"#;

#[test]
fn no_number_is_given_again_after_a_load_that_failed() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    let target = Target::Postgresql(server.target("trusty"));
    let ended = load(&target, SPOILT_NUMBERED, &json!({}), 3);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert_eq!(client.value("SELECT count(*) BETWEEN 1 AND 59999 FROM spoilt"), "t");
    assert_eq!(client.value("SELECT nextval('spoilt_id_seq') > max(id) FROM spoilt"), "t");
    client.ok("DROP TABLE spoilt");
}

/// Enough rows for each of several loaders.
const PLENTY: &str = r#"
    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE plenty (id int PRIMARY KEY, c varchar(90))")
      con:bulk_insert_init("INSERT INTO plenty VALUES")
      for i = 1, 40000 do
        con:bulk_insert_next(("(%d, '%s')"):format(i, ("x"):rep(80)))
      end
      con:bulk_insert_done()
    end
    function event() end
"#;

/// Loads with four loaders as somebody who may have few connections.
#[track_caller]
fn check_short(client: &mut Client, target: &Target, says: &str, because: &str) {
    let ended = load(target, PLENTY, &json!({}), 4);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let warnings = ended.records.iter().filter_map(|record| match record {
        Record::Warning(warning) if warning.code == "loaders" => Some(&warning.message),
        _ => None,
    });
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with(says), "{warnings:?}");
    assert!(warnings[0].contains(because), "{warnings:?}");
    let loaded = ended.records.iter().find_map(|record| match record {
        Record::Loaded(loaded) => Some((loaded.table.as_str(), loaded.rows)),
        _ => None,
    });
    assert_eq!(loaded, Some(("plenty", ROWS)));
    assert_eq!(client.value("SELECT count(*) FROM plenty"), ROWS.to_string());
    client.ok("DROP TABLE plenty");
}

#[test]
fn loaders_that_can_t_connect_leave_their_work_to_the_others_and_that_is_said() {
    if let Some(server) = crate::postgres_server::Server::get() {
        let mut client = server.client();
        client.ok("GRANT CREATE ON SCHEMA public TO lonely");
        let target = Target::Postgresql(server.target("lonely"));
        let because = "too many connections for role";
        client.ok("ALTER ROLE lonely CONNECTION LIMIT 2");
        check_short(&mut client, &target, "1 of 4 loaders load", because);
        client.ok("ALTER ROLE lonely CONNECTION LIMIT 1");
        check_short(&mut client, &target, "no loader can connect", because);
        client.ok("ALTER ROLE lonely CONNECTION LIMIT 0");
    }
    if let Some(server) = crate::mariadb_server::Server::get() {
        let mut client = server.client();
        let nobody = record::ServerTarget { password: None, ..server.target() };
        let root = record::ServerTarget { user: "root".into(), ..nobody };
        let mut root = crate::mariadb_server::connect(&root).unwrap();
        root.ok("CREATE USER narrow IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 3");
        root.ok("GRANT ALL ON d.* TO narrow");
        let narrow = record::ServerTarget { user: "narrow".into(), ..server.target() };
        let (target, because) = (Target::Mysql(narrow), "max_user_connections");
        check_short(&mut client, &target, "2 of 4 loaders load", because);
        root.ok("ALTER USER narrow WITH MAX_USER_CONNECTIONS 1");
        check_short(&mut client, &target, "no loader can connect", because);
        root.ok("DROP USER narrow");
    }
}

/// One client loads rows after its last event, while an event of the other still counts.
const LATE: &str = r#"
    function thread_init() con = sysbench.sql.driver():connect() end

    function event()
      con:query("SELECT pg_sleep(" .. (sysbench.tid == 0 and 0.1 or 1) .. ")")
    end

    function thread_done()
      if sysbench.tid == 0 then
        con:bulk_insert_init("INSERT INTO late VALUES")
        for i = 1, 1000 do con:bulk_insert_next("(" .. i .. ")") end
        con:bulk_insert_done()
      end
    end
"#;

#[test]
fn rows_loaded_after_a_clients_last_event_are_none_of_the_window() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE late (id int)");
    let folder = Folder::new("late");
    let script = folder.script("late.lua", LATE);
    let ended = run(&spec(
        &script,
        json!({
            "groups": [{"clients": 2}], "target": Target::Postgresql(server.target("trusty")),
            "measure_s": null, "events": 2, "loaders": 2,
        }),
    ));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(client.value("SELECT count(*) FROM late"), "1000");
    let (measured, total) = (&ended.summary().measured, &ended.summary().total);
    assert_eq!((measured.writes, total.writes), (0, 1));
    client.ok("DROP TABLE late");
}

/// Rows within a transaction, and rows of a table that nobody else sees.
const PRIVATE: &str = r#"
    local function fill(con, table)
      con:bulk_insert_init("INSERT INTO " .. table .. "(k) VALUES")
      for i = 1, 1000 do con:bulk_insert_next("(" .. i .. ")") end
      con:bulk_insert_done()
    end

    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE undone (id serial PRIMARY KEY, k int)")
      con:query("BEGIN")
      fill(con, "undone")
      con:query("ROLLBACK")
      con:query("CREATE TEMPORARY TABLE unseen (id serial PRIMARY KEY, k int)")
      fill(con, "unseen")
      print("unseen: " .. con:query_row("SELECT count(*) FROM unseen"))
      con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE partial (id serial PRIMARY KEY, k int)")
      con:bulk_insert_init("INSERT INTO partial(k) VALUES")
      for i = 1, 200000 do con:bulk_insert_next("(" .. i .. ")") end
    end
    function event() end
"#;

#[test]
fn transactions_stay_whole_and_what_was_sent_is_waited_for() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    let ended = load(&Target::Postgresql(server.target("trusty")), PRIVATE, &json!({}), 2);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(client.value("SELECT count(*) FROM undone"), "0");
    let said = ended
        .records
        .iter()
        .any(|record| matches!(record, Record::Output(output) if output.text == "unseen: 1000"));
    assert!(said, "the temporary table was filled");
    // Without `bulk_insert_done` only the rows that were not yet sent are missing.
    assert_eq!(client.value("SELECT count(*) > 100000 FROM partial"), "t");
    assert_eq!(client.value("SELECT count(*) = max(id) FROM partial"), "t");
    client.ok("DROP TABLE undone, partial");
}
