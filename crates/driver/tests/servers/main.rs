//! Sessions with real servers, a module for each kind and subject. They are one test program,
//! because each program is compiled and linked with everything it needs.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

#[path = "../account/mod.rs"]
mod account;
#[path = "../certificates/mod.rs"]
mod certificates;
#[path = "../client/mod.rs"]
mod client;
#[path = "../mariadb_server/mod.rs"]
mod mariadb_server;
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
#[path = "../redis_server/mod.rs"]
mod redis_server;

mod mongodb_compression;
mod mysql_authentication;
mod mysql_newest;
mod mysql_session;
mod postgres_connect;
mod postgres_session;
mod redis_session;
mod tls;
