//! Sessions with a real Redis: both sockets, passwords, databases, TLS, commands, errors.

use crate::account;
use crate::certificates::{self, file};
use crate::client::{Client, PATIENCE};
use crate::redis_server::Server;
use driver::{Class, ConnectError, Item, Tally};
use record::{Endpoint, ServerTarget, Target, Tls, TlsMode};

fn connect(target: &ServerTarget) -> Result<Client, ConnectError> {
    Client::connect(&Target::Redis(target.clone()))
}

/// The code of a refusal.
fn code(target: &ServerTarget) -> String {
    match connect(target).err() {
        Some(ConnectError::Refused { error, .. }) => error.sqlstate,
        other => panic!("not a refusal: {other:?}"),
    }
}

#[test]
fn it_connects_over_both_sockets_to_the_database_that_is_named() {
    let Some(server) = Server::start() else { return };
    for target in [server.target(), server.over_tcp()] {
        let mut client = connect(&ServerTarget { database: "3".into(), ..target.clone() }).unwrap();
        let (name, version) = client.version.split_once(' ').unwrap();
        assert!(["redis", "valkey"].contains(&name) && version.contains('.'), "{name} {version}");
        client.command("CLIENT INFO");
        let [Item::Text(info)] = client.items()[..] else { panic!() };
        let info = String::from_utf8_lossy(info);
        for word in ["name=dbdyno", "db=3", "resp=3"] {
            assert!(info.contains(word), "{word} in {info}");
        }
        assert_eq!(code(&ServerTarget { database: "99".into(), ..target.clone() }), "ERR");
        let unknown = connect(&ServerTarget { database: "sbtest".into(), ..target }).err().unwrap();
        assert!(unknown.to_string().contains("expected a number from 0"), "{unknown}");
    }
}

#[test]
fn passwords_are_checked() {
    let arguments = "--requirepass secret --user certified on >word ~* +@all";
    let Some(server) = Server::with(|_| arguments.split(' ').map(str::to_owned).collect()) else {
        return;
    };
    let with = |user: &str, password: &str| ServerTarget {
        user: user.into(),
        password: Some(password.into()),
        ..server.target()
    };
    for target in [with("", "secret"), with("default", "secret"), with("certified", "word")] {
        assert_eq!(connect(&target).unwrap().command("PING").error, None);
    }
    assert_eq!(code(&with("", "wrong")), "WRONGPASS");
    assert_eq!(code(&with("certified", "secret")), "WRONGPASS");
    let error = connect(&server.target()).err().unwrap();
    assert!(matches!(error, ConnectError::PasswordNeeded { .. }), "{error}");
}

#[test]
fn a_server_without_version_3_is_spoken_to_in_version_2() {
    // As far as a client sees it, it is one from before Redis 6.
    let Some(server) = Server::with(|_| {
        ["--rename-command", "HELLO", "", "--requirepass", "s"].map(Into::into).into()
    }) else {
        return;
    };
    let target = ServerTarget { password: Some("s".into()), ..server.target() };
    let mut client = connect(&target).unwrap();
    assert!(client.version.starts_with("redis 7") || client.version.starts_with("redis 8"));
    let reply = client.command("GET nothing");
    assert_eq!((reply.columns, client.reply.as_slice()), (0, &b"$-1\r\n"[..]));
    let without = connect(&server.target()).err().unwrap();
    assert!(matches!(without, ConnectError::PasswordNeeded { .. }), "{without}");
}

#[test]
fn replies_are_values_and_commands_count_by_name() {
    let Some(server) = Server::start() else { return };
    let mut client = server.client();
    let class = |reply: driver::Reply| (reply.error.is_none(), reply.class.unwrap());
    assert_eq!(class(client.command("SET k v")), (true, Class::Write));
    assert_eq!(class(client.command("get k")), (true, Class::Read));
    assert_eq!(client.items(), [Item::Text(b"v")]);
    assert_eq!(class(client.command("RPUSH l a b")), (true, Class::Write));
    assert_eq!(client.items(), [Item::Integer(2)]);
    client.command("LRANGE l 0 -1");
    assert_eq!(client.items(), [Item::Array(2), Item::Text(b"a"), Item::Text(b"b")]);
    client.command("HSET h f 1");
    client.command("HGETALL h");
    assert_eq!(client.items(), [Item::Map(1), Item::Text(b"f"), Item::Text(b"1")]);
    client.command("ZADD z 1.5 a");
    client.command("ZSCORE z a");
    assert_eq!(client.items(), [Item::Number(1.5)]);
    assert_eq!(class(client.command("PING")), (true, Class::Other));
    for (command, expected) in [("INCR l", "WRONGTYPE"), ("NONSENSE", "ERR"), ("GET", "ERR")] {
        let error = client.command(command).error.unwrap();
        assert_eq!((error.code().as_str(), error.closes), (expected, false), "{command}");
    }
}

/// Each command counts as the server flags it.
#[test]
fn the_servers_own_flags_agree_with_our_classes() {
    let Some(server) = Server::start() else { return };
    let mut client = server.client();
    client.command("COMMAND");
    let items = client.items();
    let mut flags = std::collections::BTreeMap::new();
    let mut name = None;
    for (place, item) in items.iter().enumerate() {
        let Item::Text(text) = item else { continue };
        // An entry of COMMAND begins with its name and arity, then an array of flags.
        let behind = (items.get(place + 1), items.get(place + 2));
        if let (Some(Item::Integer(_)), Some(Item::Array(_))) = behind {
            name = Some(String::from_utf8_lossy(text).into_owned());
        } else if let (Some(name), b"readonly" | b"write") = (&name, *text) {
            let class = if *text == b"write" { Class::Write } else { Class::Read };
            flags.entry(name.clone()).or_insert(class);
        }
    }
    assert!(flags.len() > 150, "{}", flags.len());
    for (name, class) in flags.iter().filter(|(name, _)| !name.contains('|')) {
        let known = driver::class_of_command(name.as_bytes());
        assert_eq!(known, *class, "{name}");
    }
}

#[test]
fn a_transaction_is_counted_as_the_server_does() {
    let Some(server) = Server::start() else { return };
    let (mut client, mut other) = (server.client(), server.client());
    let mut tally = Tally::default();
    let mut add = |reply: driver::Reply| {
        tally.reads += reply.tally.reads;
        tally.writes += reply.tally.writes;
        tally.other += reply.tally.other;
        reply
    };
    other.command("CONFIG RESETSTAT");
    for command in ["MULTI", "SET k v", "GET k", "INCR k"] {
        add(client.command(command));
    }
    assert!(client.session.in_transaction());
    let error = add(client.command("EXEC")).error.unwrap();
    assert!(error.message.starts_with("command 3 of the transaction: ERR value"), "{error}");
    assert!(!client.session.in_transaction());
    assert_eq!(tally, Tally { reads: 1, writes: 1, other: 2 });
    other.command("INFO commandstats");
    let [Item::Text(stats)] = other.items()[..] else { panic!() };
    let stats = String::from_utf8_lossy(stats);
    for command in ["multi", "set", "get", "incr", "exec"] {
        assert!(stats.contains(&format!("cmdstat_{command}:calls=1,")), "{command}: {stats}");
    }
    // Nothing of a transaction whose watched key was changed is carried out, nor counted.
    for command in ["WATCH k", "MULTI", "SET k mine"] {
        assert_eq!(client.command(command).error, None);
    }
    other.command("SET k theirs");
    let reply = client.command("EXEC");
    assert_eq!((reply.columns, reply.tally), (0, Tally { other: 1, ..Tally::default() }));
    client.command("GET k");
    assert_eq!(client.items(), [Item::Text(b"theirs")]);
}

#[test]
fn tls_is_there_from_the_first_byte() {
    let port = account::free_port();
    let arguments = |folder: &std::path::Path| {
        certificates::write(folder);
        let path = |name, kind| file(folder, name, kind).display().to_string();
        vec![
            "--tls-port".into(),
            port.to_string(),
            "--tls-cert-file".into(),
            path("server", "pem"),
            "--tls-key-file".into(),
            path("server", "key"),
            "--tls-ca-cert-file".into(),
            path("ca", "pem"),
            "--tls-auth-clients".into(),
            "no".into(),
        ]
    };
    let Some(server) = Server::with(arguments) else { return };
    let folder = server.folder.path();
    let target = |mode, ca: &str| ServerTarget {
        endpoints: vec![Endpoint::Tcp { host: "localhost".into(), port }],
        tls: Tls { mode, ca: Some(file(folder, ca, "pem")), ..Tls::default() },
        ..server.target()
    };
    for mode in [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let mut client = connect(&target(mode, "ca")).unwrap();
        assert!(client.channel.is_some(), "{mode:?}");
        client.command("ECHO secret");
        assert_eq!(client.items(), [Item::Text(b"secret")]);
    }
    let stranger = connect(&target(TlsMode::VerifyFull, "other-ca")).err().unwrap();
    assert!(matches!(stranger, ConnectError::Tls { .. }), "{stranger}");
}

#[test]
fn clients_of_others_say_that_they_have_found_it() {
    let Some(server) = Server::start() else { return };
    let target = ServerTarget { user: "u".into(), ..server.over_tcp() };
    for target in [Target::Postgresql(target.clone()), Target::Mysql(target)] {
        let mut none = |_| ();
        let error = driver::connect_telling(&target, 0, PATIENCE, &mut none).err().unwrap();
        assert!(error.to_string().contains(" is a Valkey or Redis server, not "), "{error}");
    }
}
