"""MariaDB's replication by GTID: its statements and names."""

from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.gtid import (
    SEMI,
    Dialect,
    GtidReplication,
    SemiSync,
    Status,
)

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
    ),
    reserved=frozenset({"gtid_slave_pos", "server_id"}),
    most_confirming=1,
)
