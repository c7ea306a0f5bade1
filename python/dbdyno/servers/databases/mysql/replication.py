"""MySQL's replication by GTID: its statements and names since 8.0.26."""

from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mysql.brand import MYSQL
from dbdyno.servers.databases.mysql.dialect import Dialect, Promoting, SemiSync, Status
from dbdyno.servers.databases.mysql.gtid import ASYNCHRONOUS, SEMI, GtidReplication

SINCE = (8, 2)
"""`RESET BINARY LOGS AND GTIDS` is the newest statement used."""


def _transactions(position: str) -> int:
    """Of a GTID set: `UUID:1-7:9,UUID:1-3`."""
    intervals = [part for of_server in position.split(",") for part in of_server.split(":")[1:]]
    ends = [part.partition("-") for part in intervals]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _holds(session: Session, had: str) -> bool:
    asked = f"SELECT GTID_SUBSET('{had}', @@GLOBAL.gtid_executed) AS holds"
    return bool(only_row(session.rows(asked), asked)["holds"])


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
        promoting=Promoting(
            received="Retrieved_Gtid_Set",
            transactions=_transactions,
            stop_receiving="STOP REPLICA IO_THREAD",
            forget="RESET REPLICA ALL",
            had="SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '') AS had",
            holds=_holds,
            begin_at=(),
            hand_over="SET GLOBAL super_read_only = ON",
            then_settles=True,
        ),
    ),
    reserved=frozenset({"server_id"}),
    most_confirming=None,
)
