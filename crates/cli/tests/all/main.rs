//! The engine's binary as a whole, a module for each part of its behaviour. They are one test
//! program, because each program is compiled and linked with everything it needs.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

#[path = "../../../driver/tests/account/mod.rs"]
mod account;
#[path = "../../../driver/tests/certificates/mod.rs"]
mod certificates;
#[path = "../../../driver/tests/client/mod.rs"]
mod client;
#[path = "../../../driver/tests/mariadb_server/mod.rs"]
mod mariadb_server;
#[path = "../../../driver/tests/postgres_server/mod.rs"]
mod postgres_server;
mod program;
#[path = "../../../driver/tests/redis_server/mod.rs"]
mod redis_server;

mod callbacks;
mod connections;
mod documents;
mod hostile;
mod instrument;
mod interrupted;
mod keys;
mod labels;
mod load;
mod loaders;
mod mysql;
mod pipeline;
mod run;
mod stuck;
mod tls;
mod turns;
mod unread;
mod window;
