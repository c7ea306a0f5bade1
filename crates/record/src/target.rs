//! Facts about a target that need no connection.

use crate::spec::{Endpoint, ServerTarget, Target};

impl Target {
    /// The driver's name, as scripts know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Scripted { .. } => "scripted",
            Self::Sqlite(_) => "sqlite",
            Self::Duckdb(_) => "duckdb",
            Self::Postgresql(_) => "pgsql",
            Self::Mysql(_) => "mysql",
            Self::Redis(_) => "redis",
            Self::Mongodb(_) => "mongodb",
            Self::Clickhouse(_) => "clickhouse",
        }
    }

    /// The server; `None`: the database is in this process.
    pub fn server(&self) -> Option<&ServerTarget> {
        match self {
            Self::Null | Self::Scripted { .. } | Self::Sqlite(_) | Self::Duckdb(_) => None,
            Self::Postgresql(server)
            | Self::Mysql(server)
            | Self::Redis(server)
            | Self::Mongodb(server)
            | Self::Clickhouse(server) => Some(server),
        }
    }

    /// The same, but at another address; `None`: the database is in this process.
    #[must_use]
    pub fn at(&self, endpoint: Endpoint) -> Option<Self> {
        let mut target = self.clone();
        match &mut target {
            Self::Null | Self::Scripted { .. } | Self::Sqlite(_) | Self::Duckdb(_) => return None,
            Self::Postgresql(server)
            | Self::Mysql(server)
            | Self::Redis(server)
            | Self::Mongodb(server)
            | Self::Clickhouse(server) => server.endpoints = vec![endpoint],
        }
        Some(target)
    }

    /// Whether all of it is on this machine.
    pub fn is_local(&self) -> bool {
        let endpoints = self.server().map_or(&[][..], |server| &server.endpoints);
        endpoints.iter().all(|endpoint| match endpoint {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp { host, .. } => {
                host == "localhost" || host == "::1" || host.starts_with("127.")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_can_be_elsewhere() {
        let at = |host: &str| {
            let text = format!(
                r#"{{"driver": "mysql", "user": "u", "database": "d",
                    "endpoints": [{{"unix": "/s"}}, {{"tcp": {{"host": "{host}", "port": 1}}}}]}}"#
            );
            serde_json::from_str::<Target>(&text).unwrap()
        };
        assert!(Target::Null.is_local() && Target::Null.server().is_none());
        assert!(at("127.0.0.1").is_local());
        assert!(!at("db.example").is_local());
        let there = Endpoint::Tcp { host: "db.example".into(), port: 2 };
        let moved = at("127.0.0.1").at(there.clone()).unwrap();
        assert!(!moved.is_local() && Target::Null.at(there.clone()).is_none());
        assert_eq!(moved.server().unwrap().endpoints, [there]);
        assert_eq!((at("a").name(), at("a").server().unwrap().endpoints.len()), ("mysql", 2));
    }
}
