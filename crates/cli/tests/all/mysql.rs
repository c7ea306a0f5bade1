//! The binary against a real MariaDB: the field's scripts, deadlocks, killed connections.

use std::path::Path;
use std::time::Instant;

use crate::client::{Client, PATIENCE};
use crate::mariadb_server::Server;
use crate::program::{Ended, Folder, end, interrupt, merge, run, start};
use serde_json::{Value, json};

/// Where Debian's `sysbench` puts its scripts.
const SCRIPTS: &str = "/usr/share/sysbench";

/// A spec for the server; the script runs until it has done its events.
fn spec(server: &Server, script: &str, changes: Value) -> Value {
    let mut spec = crate::program::spec(script, json!({ "measure_s": null, "events": 100 }));
    spec["target"] = json!(record::Target::Mysql(server.target()));
    spec["groups"][0]["script_path"] = json!([SCRIPTS]);
    merge(&mut spec, changes);
    spec
}

#[track_caller]
fn ok(ended: Ended) -> Ended {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended
}

#[test]
fn every_script_of_the_field_prepares_runs_and_cleans_up() {
    let Some(server) = Server::get() else { return };
    if !Path::new(SCRIPTS).exists() {
        assert!(std::env::var_os("CI").is_none(), "no {SCRIPTS}: install Debian's sysbench");
        return;
    }
    let mut client = server.client();
    client.ok("CREATE DATABASE field");
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'field'";
    // Statements by class in one event; a write that finds no row is of the class `other`.
    for (script, tables_in_use, reads, changes) in [
        ("bulk_insert", 0, 0, 0),
        ("oltp_delete", 2, 0, 1),
        ("oltp_insert", 2, 0, 1),
        ("oltp_point_select", 2, 1, 0),
        ("oltp_read_only", 2, 14, 2),
        ("oltp_read_write", 2, 14, 6),
        ("oltp_update_index", 2, 0, 1),
        ("oltp_update_non_index", 2, 0, 1),
        ("oltp_write_only", 2, 0, 6),
        ("select_random_points", 1, 1, 0),
        ("select_random_ranges", 1, 1, 0),
    ] {
        let bulk = tables_in_use == 0;
        let options =
            if bulk { json!({}) } else { json!({ "tables": tables_in_use, "table_size": 500 }) };
        let on = |command: &str| {
            let changes = json!({
                "command": command,
                "target": { "database": "field" },
                "groups": [{ "clients": 3, "options": options }],
            });
            ok(run(&spec(&server, script, changes)))
        };
        on("prepare");
        for table in 1..=tables_in_use {
            let rows = client.value(&format!("SELECT count(*) FROM field.sbtest{table}"));
            assert_eq!(rows, "500", "{script}");
        }
        let ended = on("run");
        let total = &ended.summary().total;
        let (events, restarts) = (total.events, total.restarts);
        assert_eq!(events, 100, "{script}");
        if bulk {
            let rows: u64 = (1..=3)
                .map(|table| format!("SELECT count(*) FROM field.sbtest{table}"))
                .map(|sql| client.value(&sql).parse::<u64>().unwrap())
                .sum();
            assert_eq!(rows, events, "every event is a row");
        } else {
            assert_eq!(total.errors, restarts, "{script}");
            let least = (events * reads, events * changes);
            let found = (total.reads, total.writes + total.other);
            let whole = restarts > 0 || found == least;
            assert!(whole && found >= least, "{script}: {found:?} of {least:?}");
        }
        on("cleanup");
        assert_eq!(client.value(tables), "0", "{script}");
    }
}

#[test]
fn deadlocked_events_begin_again_and_none_is_lost_or_done_twice() {
    let Some(server) = Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE pairs (id int PRIMARY KEY, v int NOT NULL) ENGINE=InnoDB;
               INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let folder = Folder::new("deadlock");
    let script = folder.script(
        "deadlock.lua",
        "function thread_init(id)\n\
           con = sysbench.sql.driver():connect()\n\
           first, second = 1 + id % 2, 2 - id % 2\n\
         end\n\
         function event()\n\
           con:query('BEGIN')\n\
           con:query('UPDATE pairs SET v = v + 1 WHERE id = ' .. first)\n\
           con:query('DO sleep(0.002)')\n\
           con:query('UPDATE pairs SET v = v + 1 WHERE id = ' .. second)\n\
           con:query('COMMIT')\n\
         end",
    );
    let changes = json!({ "groups": [{ "clients": 4 }] });
    let ended = ok(run(&spec(&server, &script, changes)));
    let summary = ended.summary();
    let events = summary.total.events;
    let deadlocks = summary.errors.get("1213").copied().unwrap_or(0);
    assert!(deadlocks > 0, "{:?}", summary.errors);
    assert_eq!(summary.total.restarts, summary.total.errors);
    assert_eq!(client.value("SELECT group_concat(v) FROM pairs"), format!("{events},{events}"));
    client.ok("DROP TABLE pairs");
}

#[test]
fn a_killed_connection_is_made_anew_with_its_statements() {
    let Some(server) = Server::get() else { return };
    let folder = Folder::new("killed");
    let script = folder.script(
        "prepared.lua",
        "function thread_init()\n\
           con = sysbench.sql.driver():connect()\n\
           stmt = con:prepare('SELECT 1')\n\
         end\n\
         function event() stmt:execute() end",
    );
    let mut killer = server.client();
    killer.ok("CREATE DATABASE victims");
    let changes = json!({
        "events": null, "measure_s": 600.0, "groups": [{ "clients": 4 }],
        "target": { "database": "victims" },
    });
    let child = start(&spec(&server, &script, changes));
    let mut all = four_at_work(&mut killer, &[]);
    for _ in 0..3 {
        killer.ok(&format!("KILL {}", all[0]));
        let gone = all.remove(0);
        all = four_at_work(&mut killer, &[gone]);
    }
    interrupt(&child);
    let ended = end(child);
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let total = &ended.summary().total;
    assert_eq!((total.reconnects, total.errors, total.restarts), (3, 3, 3));
    assert_eq!(total.reads, total.events, "what was executed was an event");
}

/// The statement that finds out was never sent: it failed, and took no time.
#[test]
fn a_connection_lost_between_two_statements_is_no_slow_statement() {
    let Some(server) = Server::get() else { return };
    let folder = Folder::new("between");
    let script = folder.script(
        "between.lua",
        "function thread_init()\n\
           local drv = sysbench.sql.driver()\n\
           con, killer = drv:connect(), drv:connect()\n\
         end\n\
         function event()\n\
           local id = con:query_row('SELECT connection_id()')\n\
           if not killed then\n\
             killed = true\n\
             killer:query('KILL ' .. id)\n\
             ffi.C.usleep(500000)\n\
           end\n\
           con:query('SELECT 1')\n\
         end",
    );
    let ended = ok(run(&spec(&server, &script, json!({"events": 3}))));
    let summary = ended.summary();
    assert_eq!((summary.total.errors, summary.total.restarts), (1, 1));
    let timed = |found: &&record::HistogramRecord| {
        found.subject == record::Subject::Failed && found.label == "statement"
    };
    assert!(summary.histograms.iter().find(timed).is_none_or(|found| found.count == 0));
}

/// The connections of the clients, once there are four that execute one statement after the other
/// and none of them is one of those `gone`. One that has only just been made may not have been
/// taken up by its client, and before the load nothing counts.
fn four_at_work(watcher: &mut Client, gone: &[String]) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut since = 0;
    for _ in 0..4 {
        let found = loop {
            let found = with_last_statement(watcher);
            let works = |(id, last): &(String, u64)| *last > since && !gone.contains(id);
            if found.len() == 4 && found.iter().all(works) {
                break found;
            }
            assert!(Instant::now() < deadline, "{found:?}");
        };
        since = found.iter().map(|(_, last)| *last).max().unwrap_or(0);
    }
    with_last_statement(watcher).into_iter().map(|(id, _)| id).collect()
}

/// The clients' connections, each with the number of its last statement among all of the server's.
fn with_last_statement(watcher: &mut Client) -> Vec<(String, u64)> {
    watcher.ok("SELECT id, query_id FROM information_schema.processlist WHERE db = 'victims'");
    let rows = watcher.rows().into_iter();
    rows.filter_map(|row| match &row[..] {
        [Some(id), Some(last)] => Some((id.clone(), last.parse().ok()?)),
        _ => None,
    })
    .collect()
}
