"""ClickHouse: a server of columns."""
