//! Servers that break the protocol: what they send is an error of the request, not an answer and
//! not the end of a thread.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::program::{Ended, Folder, run, spec};
use serde_json::json;

/// Logs a client in and answers each statement so many times.
type Server = fn(&mut TcpStream, usize) -> std::io::Result<()>;

const SERVERS: [(&str, Server); 3] = [("postgresql", postgres), ("mysql", mysql), ("redis", redis)];

/// Serves each connection by `talk`; returns the port.
fn serve(talk: impl Fn(&mut TcpStream) -> std::io::Result<()> + Copy + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever hangs up has had enough.
            thread::spawn(move || {
                let mut stream = stream;
                let _ = talk(&mut stream);
            });
        }
    });
    port
}

fn driven(driver: &str, port: u16, events: u64) -> Ended {
    let folder = Folder::new("hostile");
    let (text, database) = match driver {
        "redis" => (
            "function thread_init() con = dbdyno.keys.connect() end\n\
             function event() con:command('GET', 'k') end",
            "0",
        ),
        _ => (
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() con:query('SELECT 1') end",
            "d",
        ),
    };
    let target = json!({
        "driver": driver, "endpoints": [{"tcp": {"host": "127.0.0.1", "port": port}}],
        "user": "u", "password": "p", "database": database, "tls": {"mode": "disable"},
    });
    let rules = json!([{"codes": ["all"], "action": "stop", "limit": 0}]);
    run(&spec(
        &folder.script("one.lua", text),
        json!({
            "target": target, "measure_s": 60.0, "events": events, "errors": {"rules": rules},
        }),
    ))
}

fn postgres_message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn postgres(stream: &mut TcpStream, times: usize) -> std::io::Result<()> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut rest = vec![0; u32::from_be_bytes(size) as usize - 4];
    stream.read_exact(&mut rest)?;
    let ready = postgres_message(b'Z', b"I");
    stream.write_all(&[postgres_message(b'R', &[0; 4]), ready.clone()].concat())?;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        stream.read_exact(&mut body)?;
        let notice = postgres_message(b'N', b"SNOTICE\0C00000\0Mwell\0\0");
        let answer = [postgres_message(b'C', b"SELECT 1\0"), ready.clone()].concat();
        stream.write_all(&[answer.repeat(times), notice].concat())?;
    }
}

fn mysql_packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

fn read_packet(stream: &mut TcpStream) -> std::io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((head[3], payload))
}

/// A greeting of MySQL 8 that asks for this plugin.
fn greeting(plugin: &str) -> Vec<u8> {
    let capabilities: u32 = 0x0008_a209 | 0x0001_0000 | 0x0002_0000;
    let mut payload = b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(&(capabilities as u16).to_le_bytes());
    payload.extend_from_slice(&[45, 2, 0]);
    payload.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0");
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    mysql_packet(0, &payload)
}

const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];

fn mysql(stream: &mut TcpStream, times: usize) -> std::io::Result<()> {
    stream.write_all(&greeting("mysql_native_password"))?;
    let (sequence, _) = read_packet(stream)?;
    stream.write_all(&mysql_packet(sequence + 1, &OK))?;
    loop {
        read_packet(stream)?;
        let answers: Vec<_> = (1..=times).map(|place| mysql_packet(place as u8, &OK)).collect();
        stream.write_all(&answers.concat())?;
    }
}

fn redis(stream: &mut TcpStream, times: usize) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let size = stream.read(&mut request)?;
    assert!(request[..size].starts_with(b"*7\r\n$5\r\nHELLO\r\n"));
    stream.write_all(b"%2\r\n+server\r\n+redis\r\n+version\r\n+7.0.0\r\n")?;
    loop {
        if stream.read(&mut request)? == 0 {
            return Ok(());
        }
        stream.write_all(&b"$1\r\nv\r\n".repeat(times))?;
    }
}

#[test]
fn replies_that_nobody_asked_for_are_no_answers() {
    for (driver, talk) in SERVERS {
        let ended = driven(driver, serve(move |stream| talk(stream, 51)), 20);
        assert_eq!(ended.code, 4, "{driver}: {}", ended.stderr);
        let words = "the server sent a reply that nobody asked for: ";
        assert!(ended.stderr.contains(words), "{driver}: {}", ended.stderr);
        assert!(ended.summary().measured.events <= 1, "{driver}");
        assert_eq!(ended.summary().errors["connection"], 1, "{driver}");
    }
}

#[test]
fn the_same_servers_are_fine_if_they_answer_once() {
    for (driver, talk) in SERVERS {
        let ended = driven(driver, serve(move |stream| talk(stream, 1)), 20);
        assert_eq!(ended.code, 0, "{driver}: {}", ended.stderr);
        assert_eq!(ended.summary().measured.events, 20, "{driver}");
    }
}

/// Asks for the password by a key of its own.
fn key(stream: &mut TcpStream, key: &[u8]) -> std::io::Result<()> {
    stream.write_all(&greeting("caching_sha2_password"))?;
    let (sequence, _) = read_packet(stream)?;
    stream.write_all(&mysql_packet(sequence + 1, &[1, 4]))?;
    let (sequence, _) = read_packet(stream)?;
    stream.write_all(&mysql_packet(sequence + 1, &[&[1], key].concat()))?;
    read_packet(stream).map(drop)
}

#[test]
fn a_key_that_is_none_is_an_error_of_the_connection() {
    // No text, no key, an empty one, one of one bit, one far too short for a password.
    let keys: [&[u8]; 5] = [
        b"\xff\xfe\x00",
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\n\
            MBowDQYJKoZIhvcNAQEBBQADCQAwBgIBAQIBAw==\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\n\
            MCIwDQYJKoZIhvcNAQEBBQADEQAwDgIJAKj0kYOI2v9lAgED\n-----END PUBLIC KEY-----\n",
    ];
    for (place, pem) in keys.into_iter().enumerate() {
        let ended = driven("mysql", serve(move |stream| key(stream, pem)), 1);
        assert_eq!(ended.code, 4, "key {place}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "key {place}: {}", ended.stderr);
    }
}
