//! Connecting to a real PostgreSQL: what works, and what each failure says.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::client::{Client, PATIENCE};
use crate::postgres_server::{ROLES, Server};
use driver::{Carrier, ConnectError, connect, connect_telling};
use record::{Endpoint, ServerTarget, Target};

/// The message of a connection that must not come to be.
fn refusal(target: &ServerTarget) -> (ConnectError, String) {
    match crate::postgres_server::connect(target) {
        Ok(_) => panic!("connected as {} to {:?}", target.user, target.endpoints),
        Err(error) => {
            let message = error.to_string();
            (error, message)
        }
    }
}

fn sqlstate(error: &ConnectError) -> &str {
    match error {
        ConnectError::Refused { error, .. } => &error.sqlstate,
        other => panic!("not a refusal: {other}"),
    }
}

#[test]
fn every_authentication_method_works_over_both_transports() {
    let Some(server) = Server::get() else { return };
    for (role, _) in ROLES {
        let password = Some(format!("secret-{role}"));
        let unix = ServerTarget { password, ..server.target(role) };
        let tcp = ServerTarget { endpoints: vec![server.tcp()], ..unix.clone() };
        for target in [unix, tcp] {
            let mut client = crate::postgres_server::connect(&target).unwrap();
            assert_eq!(client.value("SELECT current_user"), role);
            assert_eq!(client.value("SHOW server_version"), client.version);
            assert_eq!(client.session.name(), "pgsql");
        }
    }
}

#[test]
fn a_loader_s_statement_may_take_longer_than_connecting() {
    let Some(server) = Server::get() else { return };
    let limit = Duration::from_secs(2);
    let target = Target::Postgresql(server.target("trusty"));
    let slow = b"SELECT pg_sleep(2.2)".to_vec();
    Carrier::connect(&target, 0, limit, &[slow]).unwrap();
}

#[test]
fn a_wrong_password_is_refused_by_the_server() {
    let Some(server) = Server::get() else { return };
    for (role, _) in &ROLES[1..] {
        let password = Some("wrong".into());
        let (error, message) = refusal(&ServerTarget { password, ..server.target(role) });
        assert_eq!(sqlstate(&error), "28P01");
        let said = format!("password authentication failed for user \"{role}\" (28P01)");
        assert!(message.ends_with(&said), "{message}");
        assert!(message.starts_with(&server.socket.display().to_string()), "{message}");
    }
}

#[test]
fn a_missing_password_is_told_before_the_server_is_asked() {
    let Some(server) = Server::get() else { return };
    for ((role, _), method) in ROLES[1..].iter().zip(["in clear", "md5", "scram-sha-256"]) {
        let (_, message) = refusal(&server.target(role));
        let said =
            format!("asks for a password ({method}) for `{role}`, and the target gives none");
        assert!(message.ends_with(&said), "{message}");
    }
}

#[test]
fn what_the_server_does_not_have_it_says() {
    let Some(server) = Server::get() else { return };
    let target = server.target("trusty");
    let (error, message) = refusal(&ServerTarget { database: "nowhere".into(), ..target.clone() });
    assert_eq!(sqlstate(&error), "3D000");
    assert!(message.contains("database \"nowhere\" does not exist"), "{message}");
    let (error, _) = refusal(&ServerTarget { user: "nobody-here".into(), ..target });
    assert_eq!(sqlstate(&error), "28000");
    let (error, message) = refusal(&server.target("lonely"));
    assert_eq!(sqlstate(&error), "53300");
    assert!(message.contains("too many connections for role \"lonely\""), "{message}");
}

#[test]
fn nobody_there_is_told_with_the_address() {
    let Some(server) = Server::get() else { return };
    let port = crate::account::free_port();
    let at = |endpoint| ServerTarget { endpoints: vec![endpoint], ..server.target("trusty") };
    let (error, message) = refusal(&at(Endpoint::Tcp { host: "127.0.0.1".into(), port }));
    assert!(matches!(error, ConnectError::Unreachable { .. }));
    let said = format!("cannot connect to 127.0.0.1:{port}: Connection refused (os error 111)");
    assert_eq!(message, said);
    let (_, message) = refusal(&at(Endpoint::Unix("/nonexistent/socket".into())));
    let said = "cannot connect to /nonexistent/socket: No such file or directory (os error 2)";
    assert_eq!(message, said);
}

#[test]
fn the_deadline_is_for_the_whole_attempt() {
    let Some(server) = Server::get() else { return };
    // Takes connections (in its backlog) and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
    let target = ServerTarget { endpoints: vec![endpoint], ..server.target("trusty") };
    let begun = Instant::now();
    let error = connect(&Target::Postgresql(target), 0, Duration::from_millis(150)).unwrap_err();
    let said = format!("127.0.0.1:{port} accepted the connection and did not send its answer to");
    assert!(error.to_string().starts_with(&said), "{error}");
    assert!(error.to_string().ends_with(" within 0.15 s"), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(140));
}

#[test]
fn a_server_of_another_kind_is_recognised() {
    let Some(server) = Server::get() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let greeter = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream
    });
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
    let (_, message) =
        refusal(&ServerTarget { endpoints: vec![endpoint], ..server.target("trusty") });
    let said = format!("127.0.0.1:{port} is an HTTP server, not a PostgreSQL server");
    assert_eq!(message, said);
    drop(greeter.join().unwrap());
}

#[test]
fn a_client_of_mysqls_says_that_it_has_found_postgresql() {
    let Some(server) = Server::get() else { return };
    for endpoint in [server.tcp(), Endpoint::Unix(server.socket.clone())] {
        let target = ServerTarget { endpoints: vec![endpoint], ..server.target("trusty") };
        let error = connect_telling(&Target::Mysql(target), 0, PATIENCE, &mut |_| {}).unwrap_err();
        assert!(
            error.to_string().ends_with(" is a PostgreSQL server, not a MySQL or MariaDB server"),
            "{error}"
        );
    }
}

#[test]
fn endpoints_take_turns() {
    let Some(server) = Server::get() else { return };
    let endpoints = vec![Endpoint::Unix(server.socket.clone()), server.tcp()];
    let target = Target::Postgresql(ServerTarget { endpoints, ..server.target("trusty") });
    for ordinal in 0..4 {
        let mut client = Client::new(connect(&target, ordinal, PATIENCE).unwrap());
        let over_tcp = client.value("SELECT inet_server_port() IS NOT NULL") == "t";
        assert_eq!(over_tcp, ordinal % 2 == 1);
    }
}

#[test]
fn what_this_driver_cannot_do_is_refused_before_connecting() {
    let Some(server) = Server::get() else { return };
    let mut target = server.target("trusty");
    target.compression = Some("zstd".into());
    let (_, message) = refusal(&target);
    assert!(message.ends_with("compression `zstd` to PostgreSQL is not supported"), "{message}");
}

#[test]
fn settings_of_sessions_are_set_or_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let with = |name: &str, value: &str| {
        let session = vec![(name.to_owned(), value.to_owned())];
        ServerTarget { session, ..server.target("trusty") }
    };

    let mut client = crate::postgres_server::connect(&with("work_mem", "8MB")).unwrap();
    assert_eq!(client.value("SHOW work_mem"), "8MB");
    let (error, _) = refusal(&with("no_such_setting", "1"));
    assert_eq!(sqlstate(&error), "42704");
}
