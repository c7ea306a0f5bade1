//! Settings that PostgreSQL's client library takes from the environment and the user's files.

use std::path::PathBuf;

use record::Tls;
use sysbench::{CommandLine, Value};

/// Where Debian and Red Hat keep the authorities that the system trusts.
const SYSTEM: [&str; 2] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Fills in options that the command line leaves out.
pub fn fill_in(line: &mut CommandLine) {
    for (option, variable) in [("pgsql_password", "PGPASSWORD"), ("pgsql_sslmode", "PGSSLMODE")] {
        if let Some(text) = variable_of(variable).filter(|_| !line.has(option)) {
            line.values.0.insert(option.to_owned(), Value::Text(text));
        }
    }
}

/// The trusted authorities and the client's own certificate, if there are any.
pub fn tls() -> Tls {
    let ca = match variable_of("PGSSLROOTCERT").as_deref() {
        Some("system") => SYSTEM.iter().map(PathBuf::from).find(|path| path.is_file()),
        _ => file("PGSSLROOTCERT", "root.crt"),
    };
    let certificate = file("PGSSLCERT", "postgresql.crt");
    let key = file("PGSSLKEY", "postgresql.key").filter(|_| certificate.is_some());
    Tls { ca, certificate, key, ..Tls::default() }
}

/// The file that a variable names, or the default one if it exists.
fn file(variable: &str, usual: &str) -> Option<PathBuf> {
    variable_of(variable).map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".postgresql").join(usual)).filter(|path| path.is_file())
    })
}

fn variable_of(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
