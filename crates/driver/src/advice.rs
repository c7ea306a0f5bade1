//! What to try after a server's error, where the error itself says what would help.

use record::Target;
use rusqlite::ffi;

const DISK: &str = "make room on the disk that holds the database, or keep it elsewhere";
const ACCESS: &str = "give the run's user the right to do it";
const CONNECTIONS: &str = "raise the server's limit of connections (max_connections), or use fewer \
    clients";
const MEMORY: &str = "give the server more memory, or let it use less of it";
const MISSING: &str = "tables are made by the script's `prepare`: run it first, with the same \
    options";
const PRESENT: &str = "remove what is there with the script's `cleanup` first";
const LANGUAGE: &str = "mend the statement in the script: this server does not understand it";
const DUPLICATE: &str = "the row is there already: `cleanup` and `prepare` anew, or let the error \
    policy ignore this error";
const READ_ONLY: &str = "name a server, or a file, that takes writes";
const LIMIT: &str = "the statement took longer than the server allows: raise its limit, or do less \
    in one statement";

/// What to try after an error with this SQLSTATE and number; `None`: nothing in particular.
///
/// Numbers are MySQL's (errmsg.h and its reference of server errors), SQLSTATEs those of
/// PostgreSQL's appendix of error codes, and SQLite's its primary result codes.
pub fn advice(target: &Target, sqlstate: &str, number: i64) -> Option<&'static str> {
    match target {
        Target::Null | Target::Scripted { .. } => None,
        Target::Sqlite(_) => sqlite(number),
        Target::Postgresql(_) => postgresql(sqlstate),
        Target::Mysql(_) => mysql(number),
    }
}

fn sqlite(code: i64) -> Option<&'static str> {
    Some(match i32::try_from(code).ok()? {
        ffi::SQLITE_FULL => DISK,
        ffi::SQLITE_READONLY => READ_ONLY,
        ffi::SQLITE_PERM | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => {
            "let the run's user read and write the file and its folder"
        }
        ffi::SQLITE_IOERR => "look at the disk and its free space: the file could not be used",
        ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT => {
            "name another file: this one is damaged, or is no SQLite database"
        }
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
            "another client holds the lock: raise busy_timeout_ms, or let the error policy retry"
        }
        ffi::SQLITE_NOMEM => MEMORY,
        ffi::SQLITE_CONSTRAINT => DUPLICATE_OR_RULE,
        ffi::SQLITE_ERROR => {
            "mend the statement, or run the script's `prepare` first if a table \
            is missing"
        }
        _ => return None,
    })
}

const DUPLICATE_OR_RULE: &str = "the row breaks a rule of its table: `cleanup` and `prepare` anew, \
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
        // EE_READLINK: the number of the system's ENOSPC is none of the server's.
        assert_eq!(mysql(28), None);
        assert_eq!(mysql(1146), Some(MISSING));
        assert_eq!(mysql(1213), None);
    }
}
