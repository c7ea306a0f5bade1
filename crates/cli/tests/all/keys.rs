//! Commands on keys: scripts against a real Redis, and without a server.

use crate::program::{Ended, Folder, run, spec};
use crate::redis_server::Server;
use record::Target;
use serde_json::{Value, json};

const CONNECT: &str = "function thread_init() con = dbdyno.keys.connect() end\n";

fn measured(text: &str, changes: Value) -> Ended {
    let folder = Folder::new("keys");
    let script = folder.script("keys.lua", &format!("{CONNECT}{text}"));
    run(&spec(&script, changes))
}

/// One event of one client; returns what it printed.
fn printed(server: &Server, body: &str) -> String {
    let text = format!("function event() {body} end");
    let target = Target::Redis(server.target());
    let ended = measured(&text, json!({"target": target, "measure_s": null, "events": 1}));
    assert_eq!(ended.code, 0, "{body}: {}", ended.stderr);
    ended.output().join("\n")
}

#[test]
fn replies_become_values_of_lua() {
    let Some(server) = Server::start() else { return };
    for (body, expected) in [
        ("print(con:command('SET', 'k', 'v'))", "OK"),
        ("print(con:command('GET', 'k'), con:command('GET', 'none'))", "v\tnil"),
        ("print(con:command('INCRBY', 'n', 41), con:command('INCR', 'n'))", "41\t42"),
        ("print(con:command('SET', 'n', 0.5), con:command('GET', 'n'))", "OK\t0.5"),
        ("print(type(con:command('STRLEN', 'k')))", "number"),
        ("con:command('SET', 'k', 'a\\0\\r\\nb') print(#con:command('GET', 'k'))", "5"),
        (
            "con:command('SET', 'k', 'v') con:command('DEL', 'n')
             local t = con:command('MGET', 'k', 'n', 'k') print(t.n, t[1], t[2], t[3])",
            "3\tv\tnil\tv",
        ),
        (
            "con:command('HSET', 'h', 'f', 1, 'g', 2)
             local t = con:command('HGETALL', 'h') print(t.f, t.g)",
            "1\t2",
        ),
        (
            "local t = con:command('EVAL', 'return {1, {2, ARGV[1]}, redis.error_reply(\"MY e\")}',
               0, 'x') print(t.n, t[2][2], t[3].err)",
            "3\tx\tMY e",
        ),
        (
            "con:command('SET', 'big', '9007199254740993') print(con:command('INCR', 'big'))",
            "9007199254740994LL",
        ),
        (
            "print(con:run('SET', 'k', 'v'), con:run('GET', 'k'), con:run('GET', 'no'))",
            "true\ttrue\tnil",
        ),
        (
            "con:command('MULTI') print(con:command('SET', 'k', 7))
             con:command('GET', 'k') local t = con:command('EXEC') print(t.n, t[1], t[2])",
            "QUEUED\n2\tOK\t7",
        ),
        (
            "print(pcall(con.command, con, 'GET', nil))",
            "keys.lua:2: argument 1 of the command is a nil; expected a string, a buffer or a \
             number",
        ),
        ("con:disconnect() print(pcall(con.command, con, 'PING'))", "closed connection"),
        (
            "print(pcall(con.command, con, 'SUBSCRIBE', 'c'))",
            "keys.lua:2: this command changes which replies follow commands, so a load can't send",
        ),
        (
            "local b = require('string.buffer').new() con:command('SET', b:put('key'), b)
             print(con:command('GET', 'key'), con:run('GET', b), con:command('GET', b))",
            "key\ttrue\tkey",
        ),
        (
            "print(pcall(con.command, con, 'GET', newproxy()))",
            "argument 1 of the command is a userdata; expected a string, a buffer or a number",
        ),
        ("print(tostring(con))", "<keys_connection>"),
    ] {
        let said = printed(&server, body);
        let right = match body.contains("pcall") {
            true => said.contains(expected),
            false => said == expected,
        };
        assert!(right, "{body}: {said}");
    }
}

#[test]
fn commands_are_counted_by_class_and_label_and_pipelined() {
    let Some(server) = Server::start() else { return };
    let text = "local function ten()
        for i = 1, 5 do
          con:run('SET', 'k' .. i, ('v'):rep(50000))
          assert(con:command('GET', 'k' .. i) == nil)
        end
      end
      function event(id)
        dbdyno.label('piped')
        dbdyno.pipeline(con, 4, ten)
        assert(#con:command('GET', 'k5') == 50000)
        con:run('PING')
      end";
    let target = Target::Redis(server.over_tcp());
    let changes = json!({
        "target": target, "groups": [{"clients": 4}], "measure_s": null, "events": 40, "shards": 2,
    });
    let ended = measured(text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let total = &ended.summary().total;
    assert_eq!((total.events, total.reads, total.writes, total.other), (40, 240, 200, 40));
    assert_eq!(total.errors, 0);
}

/// Words are taken when a command is given: what a buffer holds later is no part of it.
#[test]
fn a_pipeline_takes_texts_buffers_and_numbers_as_they_are_then() {
    let Some(server) = Server::start() else { return };
    let text = "local buffer = require('string.buffer')
      local key, nothing = buffer.new(), buffer.new()
      local function all()
        con:run('SET', 'empty', nothing)
        for i = 1, 40 do
          con:run('SET', key:reset():putf('k%d', i), key)
          con:run('SET', 'n' .. i, i)
          con:run('GET', key:reset():put('none'))
          con:run('SET', 'x' .. i, i, 'EX', 1000)
          con:run('PING')
        end
      end
      function event()
        dbdyno.pipeline(con, 16, all)
        local sum = 0
        assert(con:command('GET', 'empty') == '')
        for i = 1, 40 do
          assert(con:command('GET', 'k' .. i) == 'k' .. i)
          sum = sum + con:command('GET', 'n' .. i) + con:command('GET', 'x' .. i)
        end
        print(sum, con:command('DBSIZE'))
      end";
    let target = Target::Redis(server.target());
    let ended = measured(text, json!({"target": target, "measure_s": null, "events": 3}));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.output(), ["1640\t121"; 3]);
    let total = &ended.summary().total;
    assert_eq!((total.reads, total.writes, total.other), (3 * 162, 3 * 121, 3 * 40));
    let times = |subject, label| {
        let found = ended.summary().histograms.iter();
        let found = found.filter(|one| one.subject == subject && one.label == label);
        found.map(|one| one.count).sum::<u64>()
    };
    assert_eq!(times(record::Subject::Statement, "read"), 3 * 162, "each has its time");
}

#[test]
fn the_policy_decides_about_errors_by_their_first_word() {
    let Some(server) = Server::start() else { return };
    let target = Target::Redis(server.target());
    let text = "function event()
        con:run('LPUSH', 'list', 1)
        local fine, failed = pcall(con.command, con, 'GET', 'list')
        print(fine, type(failed) == 'table' and failed.code or failed, con.error_code)
      end";
    let with = |action: &str| {
        let rules = json!([{"codes": ["WRONGTYPE"], "action": action, "limit": 1}]);
        let changes = json!({
            "target": target, "measure_s": null, "events": 2, "errors": {"rules": rules},
        });
        measured(text, changes)
    };
    let ended = with("ignore");
    assert_eq!(ended.output(), ["true\tnil\tWRONGTYPE"; 2]);
    assert_eq!(ended.summary().errors["WRONGTYPE"], 2);
    assert_eq!((ended.summary().total.reads, ended.summary().total.writes), (0, 2));
    let ended = with("restart-event");
    assert_eq!(ended.output(), ["false\tWRONGTYPE\tWRONGTYPE"; 2], "{}", ended.stderr);
    let piped = "function event()
        dbdyno.pipeline(con, 4, function() con:run('LPUSH', 'p', 1) con:run('GET', 'p') end)
      end";
    let ended = measured(piped, json!({"target": target, "measure_s": 60.0}));
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(ended.stderr.contains("command 2 of the pipeline: WRONGTYPE"), "{}", ended.stderr);
    let uncaught = "function event() con:run('LPUSH', 'l', 1) con:run('GET', 'l') end";
    let ended = measured(uncaught, json!({"target": target, "measure_s": 60.0}));
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    let refusal = "keys.lua:2: the server refused a command: WRONGTYPE Operation against a key";
    assert!(ended.stderr.contains(refusal), "{}", ended.stderr);
    assert!(ended.stderr.contains("the key holds a value of another type"), "{}", ended.stderr);
}

#[test]
fn an_event_that_restarts_drops_its_transaction() {
    let Some(server) = Server::start() else { return };
    let text = "local tries = 0
      function event()
        tries = tries + 1
        con:run('MULTI')
        con:run('INCR', 'n')
        if tries == 1 then con:run('NONSENSE') end
        print(con:command('EXEC')[1])
      end";
    let rules = json!([{"codes": ["ERR"], "action": "restart-event", "limit": 5}]);
    let changes = json!({
        "target": Target::Redis(server.target()), "measure_s": null, "events": 2,
        "errors": {"rules": rules},
    });
    let ended = measured(text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.output(), ["1", "2"]);
}

#[test]
fn a_connection_that_the_server_drops_is_made_again() {
    let Some(server) = Server::start() else { return };
    let text = "local events = 0
      function event()
        events = events + 1
        if events == 3 then
          con:run('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no')
        end
        con:run('INCR', 'n')
      end";
    let changes = json!({
        "target": Target::Redis(server.target()), "measure_s": null, "events": 10, "shards": 1,
    });
    let ended = measured(text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let summary = ended.summary();
    assert_eq!((summary.total.events, summary.total.reconnects), (10, 1));
    assert_eq!(summary.errors["connection"], 1);
}

#[test]
fn without_a_server_there_is_the_same_load() {
    let text =
        "function event() con:run('GET', 'k') con:command('SET', 'k', 1) con:run('PING') end";
    for target in [json!({"driver": "null"}), json!({"driver": "scripted", "plan": {}})] {
        let ended = measured(text, json!({"target": target, "measure_s": null, "events": 30}));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let total = &ended.summary().total;
        assert_eq!((total.reads, total.writes, total.other), (30, 30, 30));
    }
}

#[test]
fn each_family_says_where_it_is_not_at_home() {
    let folder = Folder::new("keys-family");
    let db = folder.0.join("a.db").display().to_string();
    let sqlite = json!({"driver": "sqlite", "path": db});
    let ended = measured("function event() end", json!({"target": sqlite, "measure_s": 60.0}));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let said = "dbdyno.keys.connect() needs a server of keys (Valkey, Redis); the run's target is";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let Some(server) = Server::start() else { return };
    let sql = folder.script(
        "sql.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end function event() end",
    );
    let target = Target::Redis(server.target());
    let ended = run(&spec(&sql, json!({"target": target, "measure_s": 60.0})));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let said = "sql.lua:1: the run's target is redis, which has no SQL";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}
