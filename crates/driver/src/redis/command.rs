//! The server's commands by name. A command counts as a read or a write by its flag in the server's
//! own list (`COMMAND`), because its reply doesn't show what it did.

use crate::reply::Class;

/// What is special about a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Begins a transaction.
    Multi,
    /// Carries out the transaction.
    Exec,
    /// Drops the transaction.
    Discard,
    /// Its first argument decides: `CLIENT REPLY` can't be used.
    Client,
    /// Never sent: it changes which replies follow commands, so none could be matched any more.
    Refused,
}

/// How a command is counted and handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub class: Class,
    pub kind: Kind,
}

/// Bytes of the longest name in the tables below; the two that are longer are in `of_long_name`.
const NAME_SIZE_MAX: usize = 16;

/// Flagged `readonly`.
const READS: &[&str] = &[
    "BITCOUNT",
    "BITFIELD_RO",
    "BITPOS",
    "CLUSTERSCAN",
    "DBSIZE",
    "DUMP",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXISTS",
    "EXPIRETIME",
    "FCALL_RO",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEORADIUS_RO",
    "GEOSEARCH",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HEXPIRETIME",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HPEXPIRETIME",
    "HPTTL",
    "HRANDFIELD",
    "HSCAN",
    "HSTRLEN",
    "HTTL",
    "HVALS",
    "KEYS",
    "LCS",
    "LINDEX",
    "LLEN",
    "LOLWUT",
    "LPOS",
    "LRANGE",
    "MGET",
    "OBJECT",
    "PEXPIRETIME",
    "PFCOUNT",
    "PTTL",
    "RANDOMKEY",
    "SCAN",
    "SCARD",
    "SDIFF",
    "SINTER",
    "SINTERCARD",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "SORT_RO",
    "SRANDMEMBER",
    "SSCAN",
    "STRLEN",
    "SUBSTR",
    "SUNION",
    "TOUCH",
    "TTL",
    "TYPE",
    "XINFO",
    "XLEN",
    "XPENDING",
    "XRANGE",
    "XREAD",
    "XREVRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZDIFF",
    "ZINTER",
    "ZINTERCARD",
    "ZLEXCOUNT",
    "ZMSCORE",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANK",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCAN",
    "ZSCORE",
    "ZUNION",
];

/// Flagged `write`.
const WRITES: &[&str] = &[
    "APPEND",
    "BITFIELD",
    "BITOP",
    "BLMOVE",
    "BLMPOP",
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "BZMPOP",
    "BZPOPMAX",
    "BZPOPMIN",
    "COPY",
    "DECR",
    "DECRBY",
    "DEL",
    "DELIFEQ",
    "EXPIRE",
    "EXPIREAT",
    "FLUSHALL",
    "FLUSHDB",
    "GEOADD",
    "GEORADIUS",
    "GEOSEARCHSTORE",
    "GETDEL",
    "GETEX",
    "GETSET",
    "HDEL",
    "HEXPIRE",
    "HEXPIREAT",
    "HGETDEL",
    "HGETEX",
    "HINCRBY",
    "HINCRBYFLOAT",
    "HMSET",
    "HPERSIST",
    "HPEXPIRE",
    "HPEXPIREAT",
    "HSET",
    "HSETEX",
    "HSETNX",
    "INCR",
    "INCRBY",
    "INCRBYFLOAT",
    "LINSERT",
    "LMOVE",
    "LMPOP",
    "LPOP",
    "LPUSH",
    "LPUSHX",
    "LREM",
    "LSET",
    "LTRIM",
    "MIGRATE",
    "MOVE",
    "MSET",
    "MSETEX",
    "MSETNX",
    "PERSIST",
    "PEXPIRE",
    "PEXPIREAT",
    "PFADD",
    "PFDEBUG",
    "PFMERGE",
    "PSETEX",
    "RENAME",
    "RENAMENX",
    "RESTORE",
    "RESTORE-ASKING",
    "RPOP",
    "RPOPLPUSH",
    "RPUSH",
    "RPUSHX",
    "SADD",
    "SDIFFSTORE",
    "SET",
    "SETBIT",
    "SETEX",
    "SETNX",
    "SETRANGE",
    "SINTERSTORE",
    "SMOVE",
    "SORT",
    "SPOP",
    "SREM",
    "SUNIONSTORE",
    "SWAPDB",
    "UNLINK",
    "XACK",
    "XADD",
    "XAUTOCLAIM",
    "XCLAIM",
    "XDEL",
    "XGROUP",
    "XREADGROUP",
    "XSETID",
    "XTRIM",
    "ZADD",
    "ZDIFFSTORE",
    "ZINCRBY",
    "ZINTERSTORE",
    "ZMPOP",
    "ZPOPMAX",
    "ZPOPMIN",
    "ZRANGESTORE",
    "ZREM",
    "ZREMRANGEBYLEX",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZUNIONSTORE",
];

/// Those with a special meaning; the server flags them neither way.
const SPECIAL: &[(&str, Kind)] = &[
    ("CLIENT", Kind::Client),
    ("DISCARD", Kind::Discard),
    ("EXEC", Kind::Exec),
    ("HELLO", Kind::Refused),
    ("MONITOR", Kind::Refused),
    ("MULTI", Kind::Multi),
    ("PSUBSCRIBE", Kind::Refused),
    ("PSYNC", Kind::Refused),
    ("PUNSUBSCRIBE", Kind::Refused),
    ("QUIT", Kind::Refused),
    ("RESET", Kind::Refused),
    ("SHUTDOWN", Kind::Refused),
    ("SSUBSCRIBE", Kind::Refused),
    ("SUBSCRIBE", Kind::Refused),
    ("SUNSUBSCRIBE", Kind::Refused),
    ("SYNC", Kind::Refused),
    ("UNSUBSCRIBE", Kind::Refused),
];

const ENTRIES: usize = READS.len() + WRITES.len() + SPECIAL.len();

/// All commands by name, sorted. Names are numbers here, which compare faster than strings.
static TABLE: [(u128, Command); ENTRIES] = table();

/// A name in capitals as a number, its first byte the most significant.
#[inline]
const fn number(name: &[u8]) -> u128 {
    let (mut number, mut at) = (0, 0);
    while at < NAME_SIZE_MAX {
        let byte = if at < name.len() { name[at].to_ascii_uppercase() } else { 0 };
        number = number << 8 | byte as u128;
        at += 1;
    }
    number
}

const fn table() -> [(u128, Command); ENTRIES] {
    const PLAIN: Command = Command { class: Class::Other, kind: Kind::Plain };
    let mut table = [(0, PLAIN); ENTRIES];
    let (mut at, mut index) = (0, 0);
    while index < READS.len() {
        table[at] = (number(READS[index].as_bytes()), Command { class: Class::Read, ..PLAIN });
        (at, index) = (at + 1, index + 1);
    }
    index = 0;
    while index < WRITES.len() {
        table[at] = (number(WRITES[index].as_bytes()), Command { class: Class::Write, ..PLAIN });
        (at, index) = (at + 1, index + 1);
    }
    index = 0;
    while index < SPECIAL.len() {
        let (name, kind) = SPECIAL[index];
        table[at] = (number(name.as_bytes()), Command { class: Class::Other, kind });
        (at, index) = (at + 1, index + 1);
    }
    sorted(table)
}

/// Insertion sort: only the compiler runs it, where `slice::sort` is not allowed.
const fn sorted(mut table: [(u128, Command); ENTRIES]) -> [(u128, Command); ENTRIES] {
    let mut end = 1;
    while end < ENTRIES {
        let mut at = end;
        while at > 0 && table[at - 1].0 > table[at].0 {
            let entry = table[at];
            table[at] = table[at - 1];
            table[at - 1] = entry;
            at -= 1;
        }
        end += 1;
    }
    table
}

/// The command of this name, in capitals or not. One in no table (a module's, `EVAL`) is neither a
/// read nor a write.
#[inline]
pub(super) fn command_of(name: &[u8]) -> Command {
    match name {
        // The commonest need no search.
        b"GET" => return Command { class: Class::Read, kind: Kind::Plain },
        b"SET" => return Command { class: Class::Write, kind: Kind::Plain },
        _ if name.len() > NAME_SIZE_MAX => return of_long_name(name),
        _ => {}
    }
    let wanted = number(name);
    match TABLE.binary_search_by(|(name, _)| name.cmp(&wanted)) {
        Ok(at) => TABLE[at].1,
        Err(_) => Command { class: Class::Other, kind: Kind::Plain },
    }
}

/// The class that a command of a server of keys counts as, by its name.
pub fn class_of_command(name: &[u8]) -> Class {
    command_of(name).class
}

fn of_long_name(name: &[u8]) -> Command {
    let class = if name.eq_ignore_ascii_case(b"GEORADIUSBYMEMBER_RO") {
        Class::Read
    } else if name.eq_ignore_ascii_case(b"GEORADIUSBYMEMBER") {
        Class::Write
    } else {
        Class::Other
    };
    Command { class, kind: Kind::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_name_in_any_letters() {
        let check = |name: &str, class, kind| {
            assert_eq!(command_of(name.as_bytes()), Command { class, kind }, "{name}");
        };
        for name in READS.iter().chain(&["get", "Mget", "GEORADIUSBYMEMBER_RO"]) {
            check(name, Class::Read, Kind::Plain);
        }
        for name in WRITES.iter().chain(&["set", "GEORADIUSBYMEMBER", "restore-asking"]) {
            check(name, Class::Write, Kind::Plain);
        }
        for (name, kind) in SPECIAL {
            check(name, Class::Other, *kind);
        }
        for name in ["", "EVAL", "JSON.SET", "GETS", "GE", "ZREVRANGEBYSCOREX", "PING"] {
            check(name, Class::Other, Kind::Plain);
        }
    }
}
