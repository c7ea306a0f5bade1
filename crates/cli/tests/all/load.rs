//! Tables filled by the engine: the same rows however they travel, counted, at the server's pace.

use crate::client::Client;
use crate::program::{Ended, Folder, run, spec};
use record::Target;
use serde_json::{Value, json};

/// Rows of every awkward kind, in batches of all sizes.
const LOADER: &str = r#"
    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE filled (id int PRIMARY KEY, k int, c varchar(900))")
      con:bulk_insert_init("INSERT INTO filled(id, k, c) VALUES")
      for id = 1, 3000 do
        local k = id % 7 == 0 and "NULL" or sysbench.rand.uniform(-500, 500)
        local text = ("it''s\ttab\n" .. sysbench.rand.string(("@"):rep(id % 800)))
        con:bulk_insert_next(("(%d, %s, '%s')"):format(id, k, text))
      end
      con:bulk_insert_done()
    end
    function event() end
"#;

/// Runs a script's `prepare` against the target.
fn prepare(name: &str, text: &str, target: &Target, changes: Value) -> Ended {
    let folder = Folder::new(name);
    let script = folder.script("loader.lua", text);
    let mut spec = spec(&script, changes);
    spec["command"] = json!("prepare");
    spec["target"] = json!(target);
    run(&spec)
}

/// Fills the table; returns what `digest` says of it, and the statements that changed rows.
#[track_caller]
fn fill(client: &mut Client, target: &Target, digest: &str, changes: Value) -> (String, u64) {
    let ended = prepare("fill", LOADER, target, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.rows_loaded(), 3000);
    assert_eq!(ended.summary().total.errors, 0);
    let found = client.value(digest);
    client.ok("DROP TABLE filled");
    (found, ended.summary().total.writes)
}

#[test]
fn mariadb_gets_the_same_rows_however_they_travel() {
    let Some(server) = crate::mariadb_server::Server::get() else { return };
    let mut client = server.client();
    let target = Target::Mysql(server.target());
    let digest =
        "SELECT md5(group_concat(id, ' ', ifnull(k, '-'), ' ', c ORDER BY id)) FROM filled";
    client.ok("SET GLOBAL group_concat_max_len = 10000000");
    let mut client = server.client();
    let by_insert = fill(&mut client, &target, digest, json!({"load": "insert"}));
    assert!(by_insert.1 > 1);
    for changes in [json!({"loaders": 0}), json!({"reactor": "epoll"})] {
        assert_eq!(fill(&mut client, &target, digest, changes), by_insert);
    }
    // A server that lets nobody send files.
    client.ok("SET GLOBAL local_infile = 0");
    let refused = fill(&mut client, &target, digest, json!({"reactor": "epoll"}));
    client.ok("SET GLOBAL local_infile = 1");
    assert_eq!(refused, by_insert);
}

#[test]
fn postgresql_gets_the_same_rows_by_copy_and_by_insert() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    let target = Target::Postgresql(server.target("trusty"));
    let digest = "SELECT md5(string_agg(filled::text, ',' ORDER BY id)) FROM filled";
    let by_copy = fill(&mut client, &target, digest, json!({}));
    assert!(by_copy.1 > 1);
    let by_insert = fill(&mut client, &target, digest, json!({"load": "insert"}));
    assert_eq!(by_insert, by_copy);
    assert_eq!(fill(&mut client, &target, digest, json!({"reactor": "epoll"})), by_copy);
}

#[test]
fn rows_that_copy_does_not_take_are_inserted() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE rounded (id int)");
    let text = r#"
        function prepare()
          local con = sysbench.sql.driver():connect()
          con:bulk_insert_init("INSERT INTO rounded VALUES")
          for id = 1, 50000 do con:bulk_insert_next("(" .. id .. ".6)") end
          con:bulk_insert_done()
        end
        function event() end"#;
    let target = Target::Postgresql(server.target("trusty"));
    let ended = prepare("rounded", text, &target, json!({}));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((ended.rows_loaded(), ended.summary().total.errors), (50_000, 0));
    assert_eq!(client.value("SELECT sum(id) FROM rounded"), "1250075000");
    client.ok("DROP TABLE rounded");
}

#[test]
fn rows_that_get_lost_fail_the_command() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    client.ok(
        "CREATE TABLE leaky (id int); CREATE FUNCTION leak() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN IF NEW.id = 3 THEN RETURN NULL; END IF; RETURN NEW; END';
         CREATE TRIGGER leak BEFORE INSERT ON leaky FOR EACH ROW EXECUTE FUNCTION leak()",
    );
    let text = r#"
        function prepare()
          local con = sysbench.sql.driver():connect()
          con:bulk_insert_init("INSERT INTO leaky VALUES")
          for id = 1, 5 do con:bulk_insert_next("(" .. id .. ")") end
          con:bulk_insert_done()
        end
        function event() end"#;
    let target = Target::Postgresql(server.target("trusty"));
    let ended = prepare("leaky", text, &target, json!({}));
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("of 5 rows sent in bulk the server stored 4"),
        "{}",
        ended.stderr
    );
    client.ok("DROP TABLE leaky");
}
