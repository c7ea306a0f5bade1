"""The name of ClickHouse's server program, and how it compresses."""

PROGRAM = "clickhouse-server"
COMPRESSIONS = ("lz4", "zstd")
"""Methods by which blocks can be compressed."""
