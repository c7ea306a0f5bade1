//! What kinds of databases differ in, for those who drive them. Whoever needs such a fact asks for
//! it here instead of naming a kind, so a new driver is added without them.

use record::{SqliteTarget, Target};

use crate::connect_error::ConnectError;
use crate::mysql;

const KIB: u64 = 1024;

/// Resident memory of the engine, bytes: what peaks of the bundled scripts came to, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Of each shard.
    pub a_shard: u64,
    /// Of each client.
    pub a_client: u64,
}

/// A family of databases: those that answer the same requests of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Statements of SQL.
    Sql,
    /// Commands on keys.
    Keys,
    /// Commands that are documents.
    Documents,
}

/// Facts about a kind of database that need no connection.
pub trait Traits {
    /// Its calls block the caller, so each client needs a thread of its own.
    fn blocks(&self) -> bool;

    /// Replies are due by a plan that the target holds, not when bytes arrive.
    fn is_planned(&self) -> bool;

    /// Each session is a process of the server's own, which sleeps once it has replied. Threads of
    /// MySQL and MariaDB, with a pool or without, stay busy.
    fn has_backends(&self) -> bool;

    /// Files that a client's connection keeps open.
    fn files_of_a_client(&self) -> u64;

    /// Memory that its clients take here.
    fn memory(&self) -> Memory;

    /// Whether it answers requests of this family.
    fn answers(&self, family: Family) -> bool;

    /// What its users call a request.
    fn request(&self) -> &'static str;

    /// Its errors have an SQLSTATE and a number; otherwise a code in words (`WRONGTYPE`).
    fn has_sqlstates(&self) -> bool;

    /// The error number of a failed connection, the server's or its client library's; 0: none.
    fn connect_number(&self, error: &ConnectError) -> i64;

    /// The error number of a lost connection in the server's client library; 0: none.
    fn lost_number(&self) -> i64;
}

impl Traits for Target {
    fn blocks(&self) -> bool {
        matches!(self, Self::Sqlite(_) | Self::Duckdb(_))
    }

    #[inline]
    fn is_planned(&self) -> bool {
        matches!(self, Self::Scripted { .. })
    }

    fn has_backends(&self) -> bool {
        matches!(self, Self::Postgresql(_))
    }

    fn files_of_a_client(&self) -> u64 {
        match self {
            Self::Null | Self::Scripted { .. } => 0,
            // The database, and its log if there is one. A rollback journal is open for whoever
            // writes, shared memory once.
            Self::Sqlite(target) => 1 + u64::from(has_log(target)),
            // All share the instance's file and its log.
            Self::Duckdb(_) => 0,
            Self::Postgresql(_)
            | Self::Mysql(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => 1,
        }
    }

    fn memory(&self) -> Memory {
        let (a_shard, a_client) = match self {
            // Most of a shard is Lua's garbage; a client of oltp_read_write has eleven prepared
            // statements and rows of a range.
            Self::Postgresql(_) | Self::Mysql(_) => (9 * 1024, 40),
            // Mostly the buffer of a client's last reply.
            Self::Redis(_) | Self::Mongodb(_) | Self::Clickhouse(_) => (9 * 1024, 16),
            // Each client is a shard with a Lua state and SQLite's page cache.
            Self::Sqlite(_) => (0, 2816),
            // The same without a cache: what is in memory is the instance's, by its memory_limit.
            Self::Duckdb(_) => (0, 2816),
            Self::Null | Self::Scripted { .. } => (9 * 1024, 8),
        };
        Memory { a_shard: a_shard * KIB, a_client: a_client * KIB }
    }

    fn answers(&self, family: Family) -> bool {
        match self {
            Self::Null | Self::Scripted { .. } => true,
            Self::Redis(_) => family == Family::Keys,
            Self::Mongodb(_) => family == Family::Documents,
            Self::Sqlite(_)
            | Self::Duckdb(_)
            | Self::Postgresql(_)
            | Self::Mysql(_)
            | Self::Clickhouse(_) => family == Family::Sql,
        }
    }

    fn request(&self) -> &'static str {
        if matches!(self, Self::Redis(_) | Self::Mongodb(_)) { "command" } else { "statement" }
    }

    fn has_sqlstates(&self) -> bool {
        !matches!(self, Self::Redis(_) | Self::Mongodb(_) | Self::Duckdb(_))
    }

    fn connect_number(&self, error: &ConnectError) -> i64 {
        match self {
            Self::Mysql(_) => mysql::connect_number(error),
            _ => 0,
        }
    }

    fn lost_number(&self) -> i64 {
        match self {
            Self::Mysql(_) => mysql::LOST,
            _ => 0,
        }
    }
}

fn has_log(target: &SqliteTarget) -> bool {
    let is_wal = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("journal_mode") && value.eq_ignore_ascii_case("wal")
    };
    target.pragmas.iter().any(is_wal)
}
