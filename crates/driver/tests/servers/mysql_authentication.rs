//! All authentication methods of a real MariaDB, and switching between them.
//!
//! (MySQL's own `caching_sha2_password` and `sha256_password` are unknown to MariaDB: their answers
//! are checked against other clients' in `wire-mysql`, and the former by MySQL in `mysql_newest`.)

use std::path::{Path, PathBuf};

use crate::mariadb_server::{Server, connect};
use driver::ConnectError;
use record::ServerTarget;

const PLUGIN: &str = "auth_ed25519.so";

/// Where MariaDB's plugins are: Debian ships them apart from the server itself.
fn plugins() -> PathBuf {
    let told = std::env::var_os("DBDYNO_MARIADB_PLUGINS").filter(|told| !told.is_empty());
    let told = told.map(PathBuf::from);
    told.unwrap_or_else(|| "/usr/lib/mysql/plugin".into())
}

/// The plugin goes where the server may read it, whoever it runs as.
fn arguments(folder: &Path) -> Vec<String> {
    let own = folder.join("plugins");
    std::fs::create_dir(&own).unwrap();
    std::fs::copy(plugins().join(PLUGIN), own.join(PLUGIN)).unwrap();
    vec![format!("--plugin-dir={}", own.display()), "--plugin-load-add=auth_ed25519".into()]
}

#[test]
fn accounts_of_every_kind_take_the_right_password_and_no_other() {
    if !plugins().join(PLUGIN).exists() {
        let missing = format!(
            "no {PLUGIN} in {}: set DBDYNO_MARIADB_PLUGINS to what scripts/mariadb-plugins prints",
            plugins().display()
        );
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return;
    }
    let Some(server) = Server::with(arguments) else { return };
    let mut client = server.client();
    for (user, how) in [
        ("signed", "ed25519 USING PASSWORD('secret')"),
        ("hashed", "mysql_native_password USING PASSWORD('secret')"),
        (
            "either",
            "ed25519 USING PASSWORD('other') OR mysql_native_password USING PASSWORD('secret')",
        ),
        ("open_native", "mysql_native_password USING ''"),
    ] {
        client.ok(&format!("CREATE USER {user} IDENTIFIED VIA {how}"));
        let password = (user != "open_native").then(|| "secret".to_owned());
        for endpoint in [record::Endpoint::Unix(server.socket.clone()), server.tcp()] {
            let target = ServerTarget {
                endpoints: vec![endpoint],
                user: user.into(),
                password: password.clone(),
                database: String::new(),
                ..server.target()
            };
            let mut own = connect(&target).unwrap_or_else(|error| panic!("{user}: {error}"));
            assert_eq!(own.value("SELECT substring_index(current_user(), '@', 1)"), user);
            for wrong in [None, Some("wrong".to_owned())] {
                if wrong == password {
                    continue;
                }
                match connect(&ServerTarget { password: wrong, ..target.clone() }).err() {
                    Some(ConnectError::Refused { error, .. }) => {
                        assert_eq!((error.number, error.sqlstate.as_str()), (1045, "28000"));
                    }
                    other => panic!("{user}: {other:?}"),
                }
            }
        }
    }
}
