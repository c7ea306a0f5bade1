"""The name of ClickHouse's server program."""

PROGRAM = "clickhouse-server"
