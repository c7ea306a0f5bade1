//! Connections that scripts close, lose sight of, or do wrong things with.

use crate::program::{Ended, Folder, run, spec};
use serde_json::json;

fn with_sqlite(name: &str, text: &str) -> Ended {
    let folder = Folder::new(name);
    let script = folder.script("connections.lua", text);
    let target = json!({"driver": "sqlite", "path": folder.0.join("a.db")});
    run(&spec(&script, json!({"target": target, "measure_s": null, "events": 1})))
}

#[test]
fn a_closed_connection_is_told_with_the_line_that_uses_it() {
    for call in ["query('SELECT 1')", "query_row('SELECT 1')", "prepare('SELECT 1')"] {
        let text = format!(
            "local function use(con)\n  con:{call}\n  return 1\nend\n\
             function event()\n\
               local con = sysbench.sql.driver():connect()\n\
               con:disconnect()\n\
               use(con)\n\
             end"
        );
        let ended = with_sqlite("closed", &text);
        assert_eq!(ended.code, 3, "{call}: {}", ended.stderr);
        let words = "connections.lua:2: SQL API error: attempt to use an already closed connection";
        assert!(ended.stderr.contains(words), "{call}: {}", ended.stderr);
    }
}

/// What an error says of its connection holds it as long as somebody holds the error.
#[test]
fn a_connection_that_failed_is_let_go_of() {
    let text = "function event()\n\
                  local seen = setmetatable({}, { __mode = 'v' })\n\
                  local hooks = sysbench.hooks\n\
                  function hooks.sql_error_ignorable(failed) hooks.last = failed return false end\n\
                  do\n\
                    local con = sysbench.sql.driver():connect()\n\
                    seen[1] = con\n\
                    assert(not pcall(con.query, con, 'nonsense'))\n\
                    con:disconnect()\n\
                  end\n\
                  collectgarbage() collectgarbage()\n\
                  assert(hooks.last.connection.sql_errmsg:find('nonsense') and seen[1], 'held')\n\
                  hooks.last = nil\n\
                  collectgarbage() collectgarbage()\n\
                  assert(not seen[1], 'let go of')\n\
                end";
    let ended = with_sqlite("let-go", text);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}
