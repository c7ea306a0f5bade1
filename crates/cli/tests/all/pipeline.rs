//! Several statements of a connection under way at once: against the plan, and real servers.

use crate::client::Client;
use crate::program::{Ended, Folder, run, spec, undisturbed};
use measure::Distribution;
use record::{Subject, Target};
use serde_json::{Value, json};

fn measured(name: &str, text: &str, changes: Value) -> Ended {
    let folder = Folder::new(&format!("pipeline-{name}"));
    let script = folder.script("pipeline.lua", text);
    run(&spec(&script, changes))
}

/// Ten statements in batches of four, four and two; served one after the other.
const TEN: &str = r#"
    function thread_init() con = sysbench.sql.driver():connect() end
    local function ten() for i = 1, 10 do con:query("SELECT 1") end end
    function event() dbdyno.pipeline(con, 4, ten) end
"#;

#[test]
fn a_statement_s_time_counts_from_its_own_sending() {
    let changes = json!({
        "target": {"driver": "scripted", "plan": {"service_us": 60_000}},
        "groups": [{"clients": 8}],
        "shards": 1,
        "measure_s": null,
        "events": 16,
    });
    let measure = || {
        let ended = measured("times", TEN, changes.clone());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(ended.summary().total.reads, 160);
        ended
    };
    undisturbed(measure, |ended| {
        let histograms = &ended.summary().histograms;
        let times = |subject| {
            let found = histograms.iter().find(|found| found.subject == subject).unwrap();
            Distribution::decode(&found.hdr).unwrap()
        };
        // In an event 60, 120, 180 and 240 ms twice, then 60 and 120. Machines are late at most.
        let statements = times(Subject::Statement);
        for (percentile, ms) in [(15.0, 60), (45.0, 120), (70.0, 180), (90.0, 240)] {
            let found = statements.percentile(percentile).unwrap() as f64 / 1e6;
            let late = found - f64::from(ms);
            assert!((-0.5..50.0).contains(&late), "p{percentile}: {found} ms, by the plan {ms}");
        }
        let event = times(Subject::Event).min().unwrap();
        assert!((599_000_000..680_000_000).contains(&event), "{event}");
    });
}

#[test]
fn databases_in_process_answer_one_after_the_other() {
    let ended = measured("null", TEN, json!({"measure_s": null, "events": 30}));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((ended.summary().total.reads, ended.summary().total.events), (300, 30));
}

#[test]
fn planned_errors_hit_the_statement_they_were_planned_for() {
    let text = r#"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          local fine, failed = pcall(dbdyno.pipeline, con, 8, function()
            for i = 1, 5 do con:query("SELECT 1") end
          end)
          print(fine and "fine" or failed.sql_state .. " " .. failed.sql_errmsg)
        end"#;
    let errors = json!([{"every": 7, "sqlstate": "40001", "transient": true}]);
    let changes = json!({
        "target": {"driver": "scripted", "plan": {"service_us": 100, "errors": errors}},
        "measure_s": null,
        "events": 3,
    });
    let ended = measured("planned", text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let said = |place| format!("40001 statement {place} of the pipeline: a planned error");
    assert_eq!(ended.output(), ["fine", &said(2), &said(4)]);
    assert_eq!((ended.summary().total.reads, ended.summary().total.errors), (13, 2));
}

#[test]
fn an_outage_fails_all_that_is_under_way_and_the_run_goes_on() {
    let plan = json!({"service_us": 1000, "outages": [{"at_s": 0.2, "for_s": 0.3}]});
    let changes = json!({
        "target": {"driver": "scripted", "plan": plan},
        "groups": [{"clients": 3}],
        "measure_s": 1.0,
        "shards": 1,
    });
    let ended = measured("outage", TEN, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let total = &ended.summary().total;
    assert_eq!(total.reconnects, 3);
    let errors = &ended.summary().errors;
    assert!(errors.get("connection").is_none_or(|behind| *behind <= 9), "{errors:?}");
    assert!(errors["57P01"] >= 3, "one of each batch, and vain attempts to come back: {errors:?}");
    assert_eq!(total.unfinished, 0);
    assert!(total.reads >= total.events * 10);
    assert!(total.events > 3, "{}", total.events);
}

#[test]
fn what_a_pipeline_does_not_take_says_so() {
    for (body, said) in [
        ("dbdyno.pipeline(con, 0, print)", "needs a depth from 1 to 1024"),
        ("dbdyno.pipeline(con, 2.5, print)", "needs a depth from 1 to 1024"),
        ("dbdyno.pipeline(con, 4)", "needs a connection, a depth and a function"),
        ("dbdyno.pipeline({}, 4, print)", "needs a connection, a depth and a function"),
        (
            "dbdyno.pipeline(con, 4, function() con:prepare('SELECT 1') end)",
            "takes only con:query()",
        ),
        ("dbdyno.pipeline(con, 4, function() con:disconnect() end)", "takes only con:query()"),
        (
            "dbdyno.pipeline(con, 4, function() dbdyno.pipeline(con, 4, print) end)",
            "takes only con:query()",
        ),
        ("dbdyno.pipeline(con, 4, function() con:query('x') error('mine') end)", "mine"),
    ] {
        let text = format!(
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() {body} end"
        );
        let target = json!({"driver": "scripted", "plan": {}});
        let ended = measured("wrong", &text, json!({"target": target, "measure_s": 60.0}));
        assert_eq!(ended.code, 3, "{body}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{body}: {}", ended.stderr);
    }
}

/// Prepared and plain statements, large and small replies, and errors in the middle.
const MIXED: &str = r#"
    function thread_init(id)
      con = sysbench.sql.driver():connect()
      insert = con:prepare("INSERT INTO piped VALUES (?)")
      select = con:prepare("SELECT repeat('x', 50000) FROM piped WHERE id <= ?")
      key = insert:bind_create(sysbench.sql.type.INT)
      most = select:bind_create(sysbench.sql.type.INT)
      insert:bind_param(key)
      select:bind_param(most)
      turn = 0
    end
    local long = "SELECT length('" .. ("y"):rep(20000) .. "')"
    local function statements(first)
      for i = 0, 9 do
        key:set(first + i)
        insert:execute()
        most:set(first % 5)
        assert(select:execute() == nil)
        con:query(long)
      end
      key:set(first)
      insert:execute()
      con:query("SELECT 2")
    end
    function event(id)
      turn = turn + 1
      local fine, failed = pcall(dbdyno.pipeline, con, 7, statements, (id * 100 + turn) * 10)
      local said = type(failed) == "table" and failed.sql_errmsg or failed
      assert(not fine and said:find("statement 31 of the pipeline: ", 1, true), said)
      local last = con:query_row("SELECT 42")
      assert(tonumber(last) == 42)
    end
"#;

fn check_mixed(name: &str, client: &mut Client, target: &Target, code: &str) {
    client.ok("CREATE TABLE piped (id int PRIMARY KEY)");
    for id in 1..=4 {
        client.ok(&format!("INSERT INTO piped VALUES ({id})"));
    }
    let changes = json!({
        "target": target,
        "groups": [{"clients": 4}],
        "measure_s": null,
        "events": 40,
        "shards": 2,
    });
    let ended = measured(name, MIXED, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let total = &ended.summary().total;
    assert_eq!((total.events, total.errors, total.writes), (40, 40, 400));
    assert_eq!(total.reads, 40 * (10 + 10 + 1 + 1), "rows or none");
    assert_eq!(ended.summary().errors.keys().collect::<Vec<_>>(), [code]);
    assert_eq!(client.value("SELECT count(*) FROM piped"), "404");
    client.ok("DROP TABLE piped");
}

#[test]
fn postgresql_answers_what_is_under_way_in_turn() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let target = Target::Postgresql(server.target("trusty"));
    check_mixed("postgresql", &mut server.client(), &target, "23505");
}

#[test]
fn mariadb_answers_what_is_under_way_in_turn() {
    let Some(server) = crate::mariadb_server::Server::get() else { return };
    let mut client = server.client();
    for compression in [None, Some("zlib".to_owned())] {
        let target = record::ServerTarget { compression, ..server.target() };
        check_mixed("mariadb", &mut client, &Target::Mysql(target), "1062");
    }
}

#[test]
fn in_a_transaction_what_comes_behind_an_error_fails_too_and_the_event_begins_again() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let mut client = server.client();
    client.ok("CREATE TABLE torn (id int PRIMARY KEY)");
    let text = r#"
        function thread_init() con = sysbench.sql.driver():connect() turn = 0 end
        function event()
          turn = turn + 1
          dbdyno.pipeline(con, 16, function()
            con:query("BEGIN")
            con:query("INSERT INTO torn VALUES (" .. turn .. ")")
            if turn == 1 then con:query("INSERT INTO torn VALUES (" .. turn .. ")") end
            con:query("SELECT 1")
            con:query("COMMIT")
          end)
        end"#;
    let target = Target::Postgresql(server.target("trusty"));
    let changes = json!({"target": target, "measure_s": null, "events": 3});
    let ended = measured("torn", text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let errors = &ended.summary().errors;
    assert_eq!((errors["23505"], errors["25P02"]), (1, 1), "COMMIT itself ends it well");
    assert_eq!(ended.summary().total.restarts, 1);
    assert_eq!(client.value("SELECT string_agg(id::text, ' ') FROM torn"), "2 3 4");
    client.ok("DROP TABLE torn");
}

#[test]
fn a_connection_lost_in_a_pipeline_is_made_anew_with_its_statements() {
    let Some(server) = crate::postgres_server::Server::get() else { return };
    let text = r#"
        function thread_init()
          con = sysbench.sql.driver():connect()
          stmt = con:prepare("SELECT 1")
        end
        function event()
          turn = (turn or 0) + 1
          dbdyno.pipeline(con, 6, function()
            stmt:execute()
            if turn == 2 then con:query("SELECT pg_terminate_backend(pg_backend_pid())") end
            for i = 1, 3 do stmt:execute() end
          end)
        end"#;
    let target = Target::Postgresql(server.target("trusty"));
    let changes = json!({"target": target, "measure_s": null, "events": 5});
    let ended = measured("lost", text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (total, errors) = (&ended.summary().total, &ended.summary().errors);
    assert_eq!((total.events, total.restarts, total.reconnects), (5, 1, 1));
    assert_eq!((errors["57P01"], errors["connection"]), (1, 3), "{errors:?}");
    assert_eq!(total.reads, 4 * 5 + 1);
}
