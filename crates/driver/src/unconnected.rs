//! Sessions without a server: for bytes from elsewhere.

use wire_mysql::Agreed;

use crate::clickhouse::ClickhouseSession;
use crate::mongodb::MongodbSession;
use crate::mysql::MysqlSession;
use crate::postgres::PostgresSession;
use crate::redis::RedisSession;
use crate::session::Session;

impl Session {
    /// A session in the state after PostgreSQL's handshake, without a server: for bytes from
    /// elsewhere.
    pub fn unconnected_postgres() -> Self {
        Self::Postgres(PostgresSession::new(true))
    }

    /// The same after MySQL's handshake. `deprecates_eof`: rows end in the newer way. `mariadb`:
    /// with MariaDB's own capabilities.
    pub fn unconnected_mysql(deprecates_eof: bool, mariadb: bool) -> Self {
        Self::Mysql(MysqlSession::new(
            true,
            Agreed {
                deprecates_eof,
                caches_metadata: mariadb,
                bulk_executes: mariadb,
                loads: true,
                status: 2,
                compression: None,
            },
        ))
    }

    /// The same after HELLO, of a Valkey or Redis.
    pub fn unconnected_redis() -> Self {
        Self::Redis(RedisSession::default())
    }

    /// The same of a MongoDB.
    pub fn unconnected_mongodb() -> Self {
        Self::Mongodb(MongodbSession::new("test", 0))
    }

    /// The same of a ClickHouse, after its Hello.
    pub fn unconnected_clickhouse() -> Self {
        Self::Clickhouse(Box::new(ClickhouseSession::new(true, false)))
    }
}
