//! Hints for server errors that imply a remedy.

use record::Target;
use rusqlite::ffi;

use crate::connect_error::ConnectError;

const DISK: &str = "free space on the disk that holds the database, or move the database";
const ACCESS: &str = "grant the run's user the privilege";
const CONNECTIONS: &str = "raise the server's connection limit (max_connections), or use fewer \
    clients";
const MEMORY: &str = "give the server more memory, or configure it to use less";
const MISSING: &str = "the script's `prepare` creates the tables: run it first, with the same \
    options";
const PRESENT: &str = "remove the existing tables with the script's `cleanup` first";
const LANGUAGE: &str = "fix the statement in the script: this server does not understand it";
const DUPLICATE: &str = "the row exists already: run `cleanup` and `prepare` again, or let the \
    error policy ignore this error";
const READ_ONLY: &str = "use a server or file that accepts writes";
const LIMIT: &str = "the statement took longer than the server allows: raise its limit, or split \
    the statement";

/// A hint for this SQLSTATE and number; `None`: there is none.
///
/// Numbers are MySQL's (errmsg.h and its server error reference), SQLSTATEs those of PostgreSQL's
/// error code appendix, SQLite's its primary result codes.
pub fn advice(target: &Target, sqlstate: &str, number: i64) -> Option<&'static str> {
    match target {
        Target::Null | Target::Scripted { .. } => None,
        Target::Sqlite(_) => sqlite(number),
        Target::Duckdb(_) => duckdb(sqlstate),
        Target::Postgresql(_) => postgresql(sqlstate),
        Target::Mysql(_) => mysql(number),
        Target::Redis(_) => redis(sqlstate),
        Target::Mongodb(_) => mongodb(sqlstate),
        Target::Clickhouse(_) => clickhouse(number),
    }
}

/// A hint for a connection that failed; `None`: this kind of target has none of its own.
pub fn connect_advice(target: &Target, error: &ConnectError) -> Option<&'static str> {
    match (error, target) {
        (ConnectError::Refused { error, .. }, _) => advice(target, &error.sqlstate, error.number),
        (ConnectError::Unsupported { .. }, Target::Sqlite(_)) => {
            Some("`PRAGMA pragma_list` names what this SQLite has")
        }
        (ConnectError::Unsupported { .. }, Target::Duckdb(_)) => {
            Some("name a release that has it: 1.2 or newer")
        }
        _ => None,
    }
}

fn sqlite(code: i64) -> Option<&'static str> {
    Some(match i32::try_from(code).ok()? {
        ffi::SQLITE_FULL => DISK,
        ffi::SQLITE_READONLY => READ_ONLY,
        ffi::SQLITE_PERM | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => {
            "let the run's user read and write the file and its folder"
        }
        ffi::SQLITE_IOERR => "check the disk and its free space: the file could not be used",
        ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT => {
            "use another file: this one is damaged or not a SQLite database"
        }
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
            "another client holds the lock: raise busy_timeout_ms, or let the error policy retry"
        }
        ffi::SQLITE_NOMEM => MEMORY,
        ffi::SQLITE_CONSTRAINT => DUPLICATE_OR_RULE,
        ffi::SQLITE_ERROR => {
            "fix the statement, or run the script's `prepare` first if a table \
            is missing"
        }
        _ => return None,
    })
}

const DUPLICATE_OR_RULE: &str = "the row violates a constraint: run `cleanup` and `prepare` again, \
    or let the error policy ignore this error";

fn postgresql(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "53100" => DISK,
        "53200" => MEMORY,
        "53300" => CONNECTIONS,
        "42501" => ACCESS,
        "42P01" | "3F000" | "42703" => MISSING,
        "42P07" | "42701" | "42710" => PRESENT,
        "25006" => READ_ONLY,
        "23505" => DUPLICATE,
        "57014" => LIMIT,
        "42601" | "42883" | "42804" | "0A000" => LANGUAGE,
        state if state.starts_with("23") => DUPLICATE_OR_RULE,
        _ => return None,
    })
}

fn mysql(number: i64) -> Option<&'static str> {
    Some(match number {
        // EE_WRITE, EE_DISK_FULL, ER_DISK_FULL, ER_RECORD_FILE_FULL.
        3 | 20 | 1021 | 1114 => DISK,
        // EE_OUTOFMEMORY, then the server's own.
        5 | 1037 | 1038 | 1041 | 1135 => MEMORY,
        1040 | 1203 | 1226 => CONNECTIONS,
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 => ACCESS,
        1049 | 1051 | 1054 | 1146 => MISSING,
        1007 | 1050 | 1061 => PRESENT,
        1290 | 1792 | 1836 => READ_ONLY,
        1062 => DUPLICATE,
        1048 | 1364 | 1451 | 1452 | 3819 | 4025 => DUPLICATE_OR_RULE,
        1969 | 3024 => LIMIT,
        1064 | 1305 => LANGUAGE,
        // ER_NET_PACKET_TOO_LARGE.
        1153 => "raise the server's max_allowed_packet",
        // ER_MAX_PREPARED_STMT_COUNT_REACHED.
        1461 => "raise the server's max_prepared_stmt_count, or use fewer clients",
        _ => return None,
    })
}

/// By the codes of its `system.errors`.
fn clickhouse(code: i64) -> Option<&'static str> {
    Some(match code {
        243 => DISK,
        241 => MEMORY,
        60 | 81 => MISSING,
        57 => PRESENT,
        159 => LIMIT,
        164 => READ_ONLY,
        192..=194 | 516 => "check user and password",
        291 | 497 => ACCESS,
        16 | 42 | 43 | 46 | 47 | 48 | 53 | 62 => LANGUAGE,
        202 => "raise the server's max_concurrent_queries, or use fewer clients",
        252 => "insert more rows at a time, so that merging keeps up",
        _ => return None,
    })
}

/// By the type of the error.
fn duckdb(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Catalog" => MISSING,
        "Parser" | "Binder" | "NotImplemented" | "Syntax" => LANGUAGE,
        "Constraint" => DUPLICATE_OR_RULE,
        "OutOfMemory" => "raise the setting memory_limit, or let it write to a temp_directory",
        "IO" => {
            "check the disk, and that no other process has the file open: DuckDB allows one only"
        }
        "Permission" => "let the run's user read and write the file and its folder",
        _ => return None,
    })
}

/// By the first word of the server's error.
fn redis(code: &str) -> Option<&'static str> {
    Some(match code {
        "OOM" => {
            "raise the server's maxmemory, choose a maxmemory-policy that evicts, or use fewer keys"
        }
        "MISCONF" => DISK,
        "NOPERM" => ACCESS,
        "NOAUTH" | "WRONGPASS" => "give the run the user's password, and check both",
        "READONLY" => READ_ONLY,
        "WRONGTYPE" => "the key holds a value of another type: run the script's `cleanup` first",
        "NOSCRIPT" => "send the script by EVAL or SCRIPT LOAD first",
        "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" => {
            "the server is a node of a cluster, and redirections are not followed: use a server \
             alone"
        }
        "LOADING" | "BUSY" => "wait until the server has done what it says, and run again",
        _ => return None,
    })
}

/// By the name of the server's error.
fn mongodb(name: &str) -> Option<&'static str> {
    Some(match name {
        "DuplicateKey" => {
            "the document exists already: run `cleanup` and `prepare` again, or let the error \
             policy ignore this error"
        }
        "AuthenticationFailed" => {
            "check user and password, and the database that has the user (`authSource`)"
        }
        "Unauthorized" => ACCESS,
        "NamespaceNotFound" => MISSING_COLLECTION,
        "MaxTimeMSExpired" | "ExceededTimeLimit" => LIMIT,
        "OutOfDiskSpace" => DISK,
        "CommandNotFound" | "NotImplemented" | "CommandNotSupported" => {
            "this server lacks the command, or what it was asked: use another, or leave it out"
        }
        "NotWritablePrimary" | "NotPrimaryNoSecondaryOk" => READ_ONLY,
        _ => return None,
    })
}

const MISSING_COLLECTION: &str = "the script's `prepare` creates the collections: run it first, \
    with the same options";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_error() {
        let sqlite = Target::Sqlite(record::SqliteTarget {
            path: "a.db".into(),
            pragmas: Vec::new(),
            busy_timeout_ms: 0,
        });
        assert_eq!(advice(&sqlite, "HY000", 13), Some(DISK));
        assert_eq!(advice(&sqlite, "HY000", 8), Some(READ_ONLY));
        // MySQL's number for a full disk says nothing about SQLite.
        assert_eq!(advice(&sqlite, "HY000", 1021), None);
        assert_eq!(advice(&Target::Null, "53100", 13), None);
        assert_eq!(postgresql("53100"), Some(DISK));
        assert_eq!(postgresql("42P01"), Some(MISSING));
        assert_eq!(postgresql("40001"), None);
        for number in [3, 20, 1021, 1114] {
            assert_eq!(mysql(number), Some(DISK), "{number}");
        }
        assert_eq!(mysql(5), Some(MEMORY));
        // EE_READLINK shares its number with the system's ENOSPC.
        assert_eq!(mysql(28), None);
        assert_eq!(mysql(1146), Some(MISSING));
        assert_eq!(mysql(1213), None);
    }
}
