//! Texts of `--help` and `TEST help`.

use crate::builtin::{TESTS, options};
use crate::options::{Kind, OPTIONS, Section, Since, Treatment};

/// An option that a script defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOption {
    /// As the script writes it.
    pub name: String,
    /// The type of its value.
    pub kind: Kind,
    /// The default as text; `None`: none.
    pub default: Option<String>,
    /// The script's description.
    pub help: String,
}

fn suffix(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "[=on|off]",
        Kind::Int | Kind::Double => "=N",
        Kind::Size => "=SIZE",
        Kind::Text => "=STRING",
        Kind::List => "=[LIST,...]",
        Kind::File => "=FILENAME",
    }
}

/// Formats options in columns: name, description, default.
fn columns(rows: &[(String, String, Option<String>)]) -> String {
    let width = rows.iter().map(|(written, ..)| written.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (written, help, default) in rows {
        text.push_str(&format!("  {written:<width$} {help}"));
        if let Some(default) = default {
            text.push_str(&format!(" [{default}]"));
        }
        text.push('\n');
    }
    text
}

const SECTIONS: [(Section, &str); 8] = [
    (Section::General, "General options:"),
    (Section::Random, "Pseudo-Random Numbers Generator options:"),
    (Section::Log, "Log options:"),
    (Section::Latency, "Latency options:"),
    (Section::Database, "General database options:"),
    (Section::Mysql, "mysql options:"),
    (Section::Pgsql, "pgsql options:"),
    (Section::Ours, "Options that sysbench does not have:"),
];

/// The text of `--help`.
pub fn global_help() -> String {
    let mut text = String::from(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n",
    );
    for (section, heading) in SECTIONS {
        let options = OPTIONS.iter().filter(|option| option.section == section);
        let rows: Vec<_> = options
            .map(|option| {
                let dashed = option.name.replace('_', "-");
                let mut help = option.help.to_owned();
                match (option.treatment, option.since) {
                    (Treatment::Refused(_), _) => help.push_str(" (not supported)"),
                    (Treatment::NoEffect(_), _) => help.push_str(" (no effect)"),
                    (_, Since::New) => help.push_str(" (1.1)"),
                    (_, Since::Old) => help.push_str(" (1.0)"),
                    _ => {}
                }
                let shown = option.kind != Kind::File && option.name != "test";
                let default = shown.then(|| option.default.to_owned());
                (format!("--{dashed}{}", suffix(option.kind)), help, default)
            })
            .collect();
        text.push_str(&format!("{heading}\n{}\n", columns(&rows)));
    }
    text.push_str("Compiled-in tests:\n");
    for (name, what) in TESTS {
        text.push_str(&format!("  {name} - {what}\n"));
    }
    text.push_str("\nSee 'sysbench <testname> help' for a list of options for each test.\n\n");
    text
}

/// The text of `help` for a script that defines no such function; options sorted by name.
pub fn script_help(script: &str, options: &[ScriptOption]) -> String {
    let mut sorted: Vec<_> = options.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let rows: Vec<_> = sorted
        .into_iter()
        .map(|option| {
            let written = format!("--{}{}", option.name, suffix(option.kind));
            (written, option.help.clone(), option.default.clone())
        })
        .collect();
    format!("{script} options:\n{}\n", columns(&rows))
}

/// The text of `help` for a built-in test.
pub fn test_help(name: &str) -> String {
    let rows: Vec<_> = options(name)
        .iter()
        .map(|option| {
            let written = format!("--{}{}", option.name.replace('_', "-"), suffix(option.kind));
            let shown = option.kind == Kind::List || !option.default.is_empty();
            let default = shown.then(|| option.default.to_owned());
            (written, option.help.to_owned(), default)
        })
        .collect();
    format!("{name} options:\n{}\n", columns(&rows))
}
