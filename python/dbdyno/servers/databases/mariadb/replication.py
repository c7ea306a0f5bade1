"""MariaDB's replication by GTID: its statements and names."""

from dbdyno.model.session import Session, only_row
from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.dialect import Dialect, Promoting, SemiSync, Status
from dbdyno.servers.databases.mysql.gtid import SEMI, GtidReplication

_STATE = "SELECT @@GLOBAL.gtid_binlog_state AS had"
"""The last transaction of each server that wrote some: `0-1-7,0-2-9`."""


def _last(state: str) -> dict[str, int]:
    """Domain and server → its last transaction."""
    listed = [gtid.strip().rpartition("-") for gtid in state.split(",") if gtid.strip()]
    return {of: int(number) for of, _, number in listed}


def _transactions(position: str) -> int:
    return sum(_last(position).values())


def _holds(session: Session, had: str) -> bool:
    here = _last(only_row(session.rows(_STATE), _STATE)["had"])
    return all(number <= here.get(of, 0) for of, number in _last(had).items())


REPLICATION = GtidReplication(
    Dialect(
        brand=BRAND,
        since={SEMI: (10, 3)},  # built in since then
        settings={"log_slave_updates": "ON", "gtid_strict_mode": "ON"},
        semi=SemiSync(
            settings={"rpl_semi_sync_slave_enabled": "ON"},
            enabled="rpl_semi_sync_master_enabled",
            replicas="Rpl_semi_sync_master_clients",
            timeout="rpl_semi_sync_master_timeout",
        ),
        status=Status(
            "SHOW SLAVE STATUS", "Slave_IO_Running", "Slave_SQL_Running", "Slave_IO_State"
        ),
        new_log="RESET MASTER",
        stop="STOP SLAVE",
        start="START SLAVE",
        follow="CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port},"
        " MASTER_USER = '{user}', MASTER_PASSWORD = '{password}',"
        " MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
        position="SELECT @@GLOBAL.gtid_binlog_pos AS position",
        wait="SELECT MASTER_GTID_WAIT('{position}', {limit_s:.3f}) AS late",
        promoting=Promoting(
            received="Gtid_IO_Pos",
            transactions=_transactions,
            stop_receiving="STOP SLAVE IO_THREAD",
            forget="RESET SLAVE ALL",
            had=_STATE,
            holds=_holds,
            begin_at=("SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos",),
            hand_over="SHUTDOWN WAIT FOR ALL SLAVES",
            then_settles=False,
        ),
    ),
    reserved=frozenset({"gtid_slave_pos", "server_id"}),
    most_confirming=1,
)
