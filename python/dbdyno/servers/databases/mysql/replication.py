"""MySQL's replication by GTID: its statements and names since 8.0.26."""

from dbdyno.servers.databases.mysql.brand import MYSQL
from dbdyno.servers.databases.mysql.gtid import (
    ASYNCHRONOUS,
    SEMI,
    Dialect,
    GtidReplication,
    SemiSync,
    Status,
)

SINCE = (8, 2)
"""`RESET BINARY LOGS AND GTIDS` is the newest statement used."""

REPLICATION = GtidReplication(
    Dialect(
        brand=MYSQL,
        since={ASYNCHRONOUS: SINCE, SEMI: SINCE},
        settings={"gtid_mode": "ON", "enforce_gtid_consistency": "ON"},
        semi=SemiSync(
            settings={
                "plugin_load_add": "semisync_source.so;semisync_replica.so",
                "loose_rpl_semi_sync_replica_enabled": "ON",
            },
            enabled="rpl_semi_sync_source_enabled",
            replicas="Rpl_semi_sync_source_clients",
            timeout="loose_rpl_semi_sync_source_timeout",
            waits_for="loose_rpl_semi_sync_source_wait_for_replica_count",
        ),
        status=Status(
            "SHOW REPLICA STATUS", "Replica_IO_Running", "Replica_SQL_Running", "Replica_IO_State"
        ),
        new_log="RESET BINARY LOGS AND GTIDS",
        stop="STOP REPLICA",
        start="START REPLICA",
        follow="CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port},"
        " SOURCE_USER = '{user}', SOURCE_PASSWORD = '{password}', SOURCE_AUTO_POSITION = 1,"
        " GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1",
        position="SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '') AS position",
        wait="SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', {limit_s:.3f}) AS late",
    ),
    reserved=frozenset({"server_id"}),
    most_confirming=None,
)
