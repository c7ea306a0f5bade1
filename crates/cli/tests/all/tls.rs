//! A whole run over TLS: loading, statements large and small, pipelines, killed connections.

use std::path::Path;

use crate::certificates::file;
use crate::program::{Folder, run, spec};
use record::{Endpoint, ServerTarget, Target, Tls, TlsMode};
use serde_json::json;

const SCRIPT: &str = r#"
    sysbench.cmdline.options = { connections = { "how many of them", "" } }
    function prepare()
      local con = sysbench.sql.driver():connect()
      con:query("CREATE TABLE sealed (id int PRIMARY KEY, c varchar(900))")
      con:bulk_insert_init("INSERT INTO sealed(id, c) VALUES")
      for id = 1, 3000 do
        con:bulk_insert_next(("(%d, '%s')"):format(id, sysbench.rand.string(("@"):rep(800))))
      end
      con:bulk_insert_done()
      print(con:query_row(sysbench.opt.connections))
    end
    local function several()
      for i = 1, 10 do
        number:set(i)
        stmt:execute()
        con:query("SELECT '" .. ("z"):rep(i * 3000) .. "'")
      end
    end
    function thread_init()
      con = sysbench.sql.driver():connect()
      stmt = con:prepare("SELECT c FROM sealed WHERE id <= ?")
      number = stmt:bind_create(sysbench.sql.type.INT)
      stmt:bind_param(number)
      events = 0
    end
    function event()
      events = events + 1
      local rows = events % 10 == 0 and 500 or 1
      number:set(rows)
      local result = stmt:execute()
      assert(result.nrows == rows and #result:fetch_row()[1] == 800)
      if events % 25 == 0 then
        assert(#con:query_row("SELECT '" .. ("y"):rep(100000) .. "'") == 100000)
      end
      if events % 20 == 0 then dbdyno.pipeline(con, 8, several) end
      if events == 30 then con:reconnect() end
    end
"#;

/// How many connections we have that are encrypted.
const OF_POSTGRESQL: &str = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                             WHERE ssl AND usename = current_user";
/// How many we have over TCP, where a connection in the clear would have been refused.
const OF_MARIADB: &str = "SELECT count(*) FROM information_schema.processlist \
                          WHERE user = 'native' AND host LIKE '%:%'";

fn check(folder: &Path, target: ServerTarget, wrap: fn(ServerTarget) -> Target, connections: &str) {
    let scripts = Folder::new(&format!("sealed-{}", target.user));
    let script = scripts.script("sealed.lua", SCRIPT);
    let ca = Some(file(folder, "ca", "pem"));
    let mut target =
        ServerTarget { tls: Tls { mode: TlsMode::VerifyFull, ca, ..Tls::default() }, ..target };
    for endpoint in &mut target.endpoints {
        if let Endpoint::Tcp { host, .. } = endpoint {
            *host = "localhost".into();
        }
    }
    // On one shard the clients take turns: each gets so far that it connects anew.
    let changes = json!({"groups": [{"clients": 4}], "shards": 1, "measure_s": null});
    let mut spec = spec(&script, changes);
    spec["target"] = json!(wrap(target.clone()));
    spec["command"] = json!("prepare");
    spec["loaders"] = json!(3);
    spec["groups"][0]["options"] = json!({"connections": connections});
    let ended = run(&spec);
    assert_eq!((ended.code, ended.summary().total.errors), (0, 0), "{}", ended.stderr);
    let found: u32 = ended.output()[0].parse().unwrap();
    assert!((2..=4).contains(&found), "the script's own and up to three loaders': {found}");
    for reactor in ["auto", "epoll"] {
        spec["command"] = json!("run");
        spec["events"] = json!(400);
        spec["reactor"] = json!(reactor);
        let ended = run(&spec);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let total = &ended.summary().total;
        assert_eq!((total.events, total.errors, total.reconnects), (400, 0, 4));
        // Each event, some events' long one, and pipelines of twenty.
        let rounds = |every: u64| total.events / every;
        let most = 400 + rounds(25) + rounds(20) * 20;
        assert!((most - 4 * 21..=most).contains(&total.reads), "{} of {most}", total.reads);
    }
    spec["target"]["tls"]["ca"] = json!(file(folder, "other-ca", "pem"));
    let ended = run(&spec);
    assert_eq!(ended.code, 4);
    assert!(ended.stderr.contains("not signed by an authority"), "{}", ended.stderr);
}

#[test]
fn postgresql_is_driven_over_tls() {
    let server = crate::postgres_server::Server::with(|folder| {
        crate::certificates::write(folder);
        let path = |kind| file(folder, "server", kind).display().to_string();
        crate::postgres_server::Extras {
            settings: vec![
                "ssl=on".into(),
                format!("ssl_cert_file={}", path("pem")),
                format!("ssl_key_file={}", path("key")),
            ],
            rules: "",
        }
    });
    let Some(server) = server else { return };
    let target = ServerTarget { endpoints: vec![server.tcp()], ..server.target("trusty") };
    check(server.socket.parent().unwrap(), target, Target::Postgresql, OF_POSTGRESQL);
}

#[test]
fn mariadb_is_driven_over_tls() {
    let server = crate::mariadb_server::Server::with(|folder| {
        crate::certificates::write(folder);
        let path = |kind| file(folder, "server", kind).display().to_string();
        vec![format!("--ssl-cert={}", path("pem")), format!("--ssl-key={}", path("key"))]
    });
    let Some(server) = server else { return };
    let target = ServerTarget { endpoints: vec![server.tcp()], ..server.target() };
    check(server.socket.parent().unwrap(), target.clone(), Target::Mysql, OF_MARIADB);
    server.client().ok("DROP TABLE sealed");
    let target = ServerTarget { compression: Some("zlib".into()), ..target };
    check(server.socket.parent().unwrap(), target, Target::Mysql, OF_MARIADB);
}
