"""Queries of the lab to MySQL or MariaDB servers, from version 5.6, over its own session."""

from __future__ import annotations

from collections.abc import Mapping

import pymysql

from dbdyno.errors import ServerError
from dbdyno.servers.databases.mysql import features
from dbdyno.servers.databases.mysql.session import MysqlSession
from dbdyno.servers.protocol import Capacity

_OF_THIS_RUN = frozenset(
    {
        "basedir",
        "bind_address",
        "datadir",
        "group_replication_group_name",
        "group_replication_group_seeds",
        "group_replication_local_address",
        "init_file",
        "lc_messages_dir",
        "pid_file",
        "port",
        "report_port",
        "socket",
        "tmpdir",
        "wsrep_cluster_address",
        "wsrep_provider_options",
        "wsrep_sst_receive_address",
    }
)
"""Settings that contain paths or ports of a run: always different, never significant."""
_CHANGED_IN_MARIADB = """
    SELECT LOWER(VARIABLE_NAME) AS name, GLOBAL_VALUE AS value, DEFAULT_VALUE AS default_value,
           GLOBAL_VALUE_ORIGIN AS source FROM information_schema.SYSTEM_VARIABLES
    WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO')
      AND NOT GLOBAL_VALUE <=> DEFAULT_VALUE ORDER BY 1"""
_CHANGED_IN_MYSQL = """
    SELECT i.VARIABLE_NAME AS name, v.VARIABLE_VALUE AS value, '' AS default_value,
           i.VARIABLE_SOURCE AS source FROM performance_schema.variables_info i
    JOIN performance_schema.global_variables v USING (VARIABLE_NAME)
    WHERE i.VARIABLE_SOURCE <> 'COMPILED' ORDER BY 1"""
_NO_SUCH_TABLE = (1109, 1146)


def facts(session: MysqlSession, database: str) -> Mapping[str, object]:
    """Version, build, page size, character set, durability, TLS, which storage engines have the
    database's tables, and the libraries of a MariaDB."""
    effective = settings(session)
    version = effective["version"].partition("-")[0]
    return {
        "version": version,
        "version_number": version_number(version),
        "build": f"{effective['version']} {effective['version_comment']}",
        "compiled_for": f"{effective['version_compile_machine']} {effective['version_compile_os']}",
        "page_size_bytes": int(effective["innodb_page_size"]),
        "encoding": effective["character_set_server"],
        "storage_engine": effective.get("default_storage_engine"),
        "data_engines": data_engines(session, database),
        **features.libraries(effective),
        "durability": durability(effective),
    }


def version_number(version: str) -> int:
    """10.11.5 as 101105, as the server's own macros write it."""
    major, minor, patch = [*map(int, version.split(".")), 0, 0][:3]
    return major * 10_000 + minor * 100 + patch


def settings(session: MysqlSession) -> Mapping[str, str]:
    """Every global setting."""
    rows = session.rows("SHOW GLOBAL VARIABLES")
    return {row["Variable_name"]: str(row["Value"]) for row in rows}


def durability(effective: Mapping[str, str]) -> str:
    """The class printed beside every number: D0 may lose or tear data in a crash, D1 may lose the
    last commits, D2 has every commit on this node's disk, D3 on another node too."""
    if effective.get("innodb_doublewrite") in ("OFF", "0"):
        return "D0"
    if effective.get("innodb_flush_method") == "nosync":
        return "D0"
    if effective.get("innodb_flush_log_at_trx_commit") not in ("1", "3"):
        return "D1"
    if effective.get("log_bin") == "ON" and effective.get("sync_binlog") == "0":
        return "D1"
    semi_sync = ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled")
    return "D3" if any(effective.get(name) == "ON" for name in semi_sync) else "D2"


def settings_changed(session: MysqlSession) -> Mapping[str, Mapping[str, str]] | None:
    """Settings that are not the server's default, where it can tell; `None` before MySQL 8.0."""
    for statement in (_CHANGED_IN_MARIADB, _CHANGED_IN_MYSQL):
        try:
            rows = session.rows(statement)
            break
        except ServerError as error:
            if not _about_missing_table(error):
                raise
    else:
        return None
    return {
        row["name"]: {key: str(row[key]) for key in ("value", "default_value", "source")}
        for row in rows
        if row["name"] not in _OF_THIS_RUN
    }


def _about_missing_table(error: ServerError) -> bool:
    cause = error.__cause__
    return isinstance(cause, pymysql.Error) and cause.args[0] in _NO_SUCH_TABLE


def counters(session: MysqlSession) -> Mapping[str, int]:
    """Counters of the whole server (`Questions`, `Com_commit`, `Innodb_rows_read`, …).

    Between two calls the lab sends exactly one statement of its own: this one.
    """
    counts = {}
    for row in session.rows("SHOW GLOBAL STATUS"):
        if str(row["Value"]).isdecimal():
            counts[row["Variable_name"]] = int(row["Value"])
    return counts


def capacity(session: MysqlSession) -> Capacity:
    """Free connections and prepared statements. Unknown behind a proxy, whose port is not the
    server's."""
    effective, counts = settings(session), counters(session)
    address = session.address
    if address.unix is None and effective["port"] != str(address.port):
        return Capacity()
    most, used = int(effective["max_connections"]), counts["Threads_connected"]
    statements = int(effective["max_prepared_stmt_count"]) - counts.get("Prepared_stmt_count", 0)
    return Capacity(
        connections=most - used,
        basis=f"max_connections {most}, {used} in use",
        cure="raise the server's max_connections (a setting of the study: "
        "`max_connections = 1000`)",
        statements=statements,
        accept_queue=int(effective["back_log"]),
    )


def size_bytes(session: MysqlSession, database: str) -> int:
    """Size of a database's tables and indexes, according to the storage engines."""
    row = session.row(
        "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS size"
        " FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
        database,
    )
    return int(row["size"])


def data_engines(session: MysqlSession, database: str) -> list[str]:
    """Storage engines of a database's tables, as the server writes them: `InnoDB`, `ROCKSDB`."""
    rows = session.rows(
        "SELECT DISTINCT ENGINE AS engine FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' AND ENGINE IS NOT NULL"
        " ORDER BY ENGINE",
        database,
    )
    return [row["engine"] for row in rows]


def tables(session: MysqlSession, database: str) -> Mapping[str, str]:
    """Tables of a database, named as in statements."""
    rows = session.rows(
        "SELECT TABLE_NAME AS name FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
        database,
    )
    return {row["name"]: f"{quoted(database)}.{quoted(row['name'])}" for row in rows}


def quoted(name: str) -> str:
    """A name quoted for statements."""
    return "`" + name.replace("`", "``") + "`"
