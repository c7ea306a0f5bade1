//! Failures in sysbench's words, with the server's facts, for programs that parse its output.

use driver::ConnectError;
use record::Target;

use crate::outcome::{Failed, Purpose};

/// Error numbers of MySQL's client library for failures that no server reported.
const UNREACHABLE: i64 = 2002;
const NO_TLS: i64 = 2026;
const NO_PASSWORD: i64 = 1045;
const LOST: i64 = 2013;
/// libpq's status of a failed statement.
const FATAL_RESULT: u8 = 7;

/// The error number of a lost connection.
pub(crate) fn lost_number(target: &Target) -> i64 {
    if matches!(target, Target::Mysql(_)) { LOST } else { 0 }
}

/// Lines for a failed statement; `executed`: it was a prepared one.
pub(crate) fn statement(
    target: &Target,
    failed: &Failed,
    text: Option<&[u8]>,
    executed: bool,
) -> Vec<String> {
    let text = text.map(String::from_utf8_lossy);
    let Failed { number, sqlstate, message, .. } = failed;
    let prepares = matches!(failed.purpose, Purpose::Prepare(_));
    match target {
        Target::Mysql(_) if prepares => vec![
            "mysql_stmt_prepare() failed".to_owned(),
            format!("MySQL error: {number} \"{message}\""),
        ],
        Target::Mysql(_) => {
            let call = if executed { "mysql_stmt_execute()" } else { "mysql_drv_query()" };
            let query = text.map_or_else(String::new, |text| format!(" for query '{text}'"));
            vec![format!("{call} returned error {number} ({message}){query}")]
        }
        Target::Postgresql(_) => {
            let call = match (prepares, executed) {
                (true, _) => "PQprepare()",
                (_, true) => "PQexecPrepared()",
                _ => "PQexec()",
            };
            let mut lines = vec![format!("{call} failed: {FATAL_RESULT} {message}")];
            lines.extend(text.map(|text| format!("failed query was: {text}")));
            lines
        }
        _ => vec![format!("the database refused a statement: {message} (SQLSTATE {sqlstate})")],
    }
}

/// Lines for a connection that failed.
pub(crate) fn connection(target: &Target, error: &ConnectError) -> Vec<String> {
    let (address, number) = match error {
        ConnectError::Refused { address, error } => (address, error.number),
        ConnectError::Tls { address, .. } => (address, NO_TLS),
        ConnectError::PasswordNeeded { address, .. } => (address, NO_PASSWORD),
        ConnectError::Unreachable { address, .. }
        | ConnectError::Timeout { address, .. }
        | ConnectError::Silent { address, .. }
        | ConnectError::OtherServer { address, .. }
        | ConnectError::Unsupported { address, .. }
        | ConnectError::Protocol { address, .. } => (address, UNREACHABLE),
    };
    let said = match error {
        ConnectError::Refused { error, .. } => error.message.clone(),
        other => other.to_string(),
    };
    match target {
        Target::Mysql(_) => {
            let place = match address.rsplit_once(':') {
                Some((host, port)) => format!("host '{host}', port {port}"),
                None => format!("socket '{address}'"),
            };
            vec![
                format!("unable to connect to MySQL server on {place}, aborting..."),
                format!("error {number}: {said}"),
            ]
        }
        Target::Postgresql(_) => vec![format!("Connection to database failed: {error}")],
        _ => vec![said],
    }
}
