//! Commands of documents without a server. With one, `tests/workloads/test_documents.py` has them.

use crate::program::{Ended, Folder, run, spec};
use serde_json::{Value, json};

fn measured(text: &str, changes: Value) -> Ended {
    let folder = Folder::new("documents");
    let script = folder.script("documents.lua", text);
    run(&spec(&script, changes))
}

/// An event that prints what its code says; without a server nothing is answered.
fn printed(body: &str) -> String {
    let text = format!(
        "function thread_init() d = dbdyno.documents c = d.connect():collection('c') end
         function event() {body} end"
    );
    let target = json!({"driver": "null"});
    let ended = measured(&text, json!({"target": target, "measure_s": null, "events": 1}));
    assert_eq!(ended.code, 0, "{body}: {}", ended.stderr);
    ended.output().join("\n")
}

#[test]
fn without_a_server_there_is_the_same_load() {
    let text = "function thread_init() c = dbdyno.documents.connect():collection('c') end
        function event()
          c:insert_one({ _id = 1, a = { 1, 2 }, b = { c = {} } })
          c:insert_many({ { _id = 2 }, { _id = 3 } })
          assert(c:find_one({ _id = 1 }) == nil and c:find({}).n == 0)
          c:update_one({ _id = 1 }, { ['$set'] = { a = 5 } }, { upsert = true })
          c:delete_one({ _id = 1 })
          c:count_documents({ a = 1 })
          c:distinct('a')
          c:bulk_write({ { insert_one = { _id = 4 } }, { delete_one = { _id = 4 } } })
          c.connection:command('ping')
          c:create_index(dbdyno.documents.ordered('a', 1, 'b', -1))
        end";
    for target in [json!({"driver": "null"}), json!({"driver": "scripted", "plan": {}})] {
        let ended = measured(text, json!({"target": target, "measure_s": null, "events": 30}));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let total = &ended.summary().total;
        assert_eq!((total.reads, total.writes, total.other), (120, 180, 60));
    }
}

#[test]
fn what_no_document_can_hold_is_named_with_its_place() {
    for (body, expected) in [
        ("print(pcall(c.insert_one, c, { a = print }))", "documents.lua:2: `a` is a function"),
        ("print(pcall(c.insert_one, c, { [5] = 1 }))", "a name in a document is a number"),
        ("print(pcall(c.insert_one, c, { a = '\\255' }))", "`a` is a string that is not UTF-8"),
        ("print(pcall(c.insert_one, c, { ['a\\0'] = 1 }))", "a name in a document has a zero"),
        ("print(pcall(c.insert_one, c, { a = 5LL }))", "`a` is a value of C: use documents.int64"),
        ("local t = {} t.t = t print(pcall(c.insert_one, c, t))", "nests more than 100 deep"),
        ("print(pcall(c.find, c, {}, 5))", "options are a number; expected a table"),
        ("print(pcall(c.bulk_write, c, { { insert = {} } }))", "operation 1 of bulk_write is"),
        ("print(pcall(d.object_id, 'x'))", "takes 24 hexadecimal digits"),
        ("print(pcall(d.ordered, 'x'))", "takes names and values in turn"),
        ("print(pcall(d.int64, 0.5))", "0"),
        ("print(d.object_id(('0a'):rep(12)), d.null, d.double(1))", "<object_id 0a0a0a"),
        ("print(d.date(5).value, d.date(5) == d.date(5), c, c.connection)", "5\ttrue\t<collection"),
        ("c.connection:disconnect() print(pcall(c.find, c))", "already closed connection"),
    ] {
        let said = printed(body);
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[test]
fn each_family_says_where_it_is_not_at_home() {
    let folder = Folder::new("documents-family");
    let db = folder.0.join("a.db").display().to_string();
    let sqlite = json!({"driver": "sqlite", "path": db});
    let text = "function thread_init() dbdyno.documents.connect() end function event() end";
    let ended = measured(text, json!({"target": sqlite, "measure_s": 60.0}));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let said = "dbdyno.documents.connect() needs a server of documents (MongoDB); the run's target";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}
