//! Failures in sysbench's words, with the server's facts, for programs that parse its output.

use script::{FailedConnection, FailedStatement, SentAs, Telling};

/// libpq's status of a failed statement.
const FATAL_RESULT: u8 = 7;

/// sysbench's words for failures.
#[derive(Debug, Clone, Copy)]
pub struct Words;

impl Telling for Words {
    fn statement(&self, failed: &FailedStatement<'_>) -> Vec<String> {
        let FailedStatement { driver, sent_as, text, sqlstate, number, message } = *failed;
        let text = text.map(String::from_utf8_lossy);
        match (driver, sent_as) {
            ("mysql", SentAs::Prepare) => vec![
                "mysql_stmt_prepare() failed".to_owned(),
                format!("MySQL error: {number} \"{message}\""),
            ],
            ("mysql", _) => {
                let executed = sent_as == SentAs::Execute;
                let call = if executed { "mysql_stmt_execute()" } else { "mysql_drv_query()" };
                let query = text.map_or_else(String::new, |text| format!(" for query '{text}'"));
                vec![format!("{call} returned error {number} ({message}){query}")]
            }
            ("pgsql", _) => {
                let call = match sent_as {
                    SentAs::Prepare => "PQprepare()",
                    SentAs::Execute => "PQexecPrepared()",
                    SentAs::Text => "PQexec()",
                };
                let mut lines = vec![format!("{call} failed: {FATAL_RESULT} {message}")];
                lines.extend(text.map(|text| format!("failed query was: {text}")));
                lines
            }
            _ => {
                vec![format!("the database refused a statement: {message} (SQLSTATE {sqlstate})")]
            }
        }
    }

    fn connection(&self, failed: &FailedConnection<'_>) -> Vec<String> {
        let FailedConnection { driver, address, number, refusal, message } = failed;
        let said = refusal.unwrap_or(message);
        match *driver {
            "mysql" => {
                let place = match address.rsplit_once(':') {
                    Some((host, port)) => format!("host '{host}', port {port}"),
                    None => format!("socket '{address}'"),
                };
                vec![
                    format!("unable to connect to MySQL server on {place}, aborting..."),
                    format!("error {number}: {said}"),
                ]
            }
            "pgsql" => vec![format!("Connection to database failed: {message}")],
            _ => vec![said.to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(driver: &'static str, sent_as: SentAs, text: Option<&[u8]>) -> Vec<String> {
        let (sqlstate, number, message) = ("42000", 1064, "why");
        Words.statement(&FailedStatement { driver, sent_as, text, sqlstate, number, message })
    }

    #[test]
    fn a_failed_statement_names_the_call_of_the_client_library() {
        let text = Some(&b"SELEC"[..]);
        let mysql = |sent_as, text| statement("mysql", sent_as, text).join("|");
        assert_eq!(
            mysql(SentAs::Text, text),
            "mysql_drv_query() returned error 1064 (why) for query 'SELEC'"
        );
        assert_eq!(mysql(SentAs::Execute, None), "mysql_stmt_execute() returned error 1064 (why)");
        assert_eq!(
            mysql(SentAs::Prepare, text),
            "mysql_stmt_prepare() failed|MySQL error: 1064 \"why\""
        );
        let pgsql = |sent_as| statement("pgsql", sent_as, text).join("|");
        assert_eq!(pgsql(SentAs::Text), "PQexec() failed: 7 why|failed query was: SELEC");
        assert_eq!(
            pgsql(SentAs::Execute),
            "PQexecPrepared() failed: 7 why|failed query was: SELEC"
        );
        assert_eq!(pgsql(SentAs::Prepare), "PQprepare() failed: 7 why|failed query was: SELEC");
    }

    #[test]
    fn a_failed_connection_names_the_place_as_the_driver_does() {
        let told = |driver, address, refusal| {
            let message = format!("{address}: no");
            let failed = FailedConnection { driver, address, number: 2002, refusal, message };
            Words.connection(&failed).join("|")
        };
        assert_eq!(
            told("mysql", "db:3306", Some("go away")),
            "unable to connect to MySQL server on host 'db', port 3306, aborting...|\
             error 2002: go away"
        );
        let by_socket = told("mysql", "/s", None);
        assert!(by_socket.ends_with("on socket '/s', aborting...|error 2002: /s: no"));
        assert_eq!(told("pgsql", "/s", Some("x")), "Connection to database failed: /s: no");
        assert_eq!(told("sqlite", "f", None), "f: no");
    }
}
