"""The initial content of a data folder: system tables, and no account but the run's own role.

The server's own SQL files are fed to `--bootstrap` directly: its install scripts need Perl or
programs of other packages, and leave root accounts without a password reachable by loopback. MySQL
from 5.7 can do this itself (`--initialize-insecure`).
"""

from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.protocol import DATABASE, ROLE

_SYSTEM_TABLES = ("system_tables", "performance_tables", "system_tables_data", "sys_schema")
"""In this order; 5.6 has no second, MariaDB before 10.6 no last."""
_NEEDED = ("system_tables", "system_tables_data")


def bootstrap_statements(share: Path) -> str:
    """All that a server fed by `--bootstrap` needs, without a single account.

    # Errors
    `ServerError` when the folder lacks the server's SQL files.
    """
    files = {name: _sql_file(share, name) for name in _SYSTEM_TABLES}
    if missing := [name for name in _NEEDED if files[name] is None]:
        raise ServerError(
            f"{share} has no file that makes the system tables (mysql_{missing[0]}.sql or "
            f"mariadb_{missing[0]}.sql)",
            hint="the package is not whole: install it again",
        )
    texts = [path.read_text(errors="surrogateescape") for path in files.values() if path]
    accounts = "global_priv" if "global_priv" in texts[0] else "user"
    return "\n".join(
        [
            "CREATE DATABASE mysql;",
            "USE mysql;",
            "SET @auth_root_socket = NULL;",
            *texts,
            "USE mysql;",
            f"DELETE FROM {accounts} WHERE User IN ('', 'root');",
            "DELETE FROM db WHERE User = '';",
            "DELETE FROM proxies_priv;",
            "",
        ]
    )


def _sql_file(share: Path, name: str) -> Path | None:
    candidates = (share / f"{family}_{name}.sql" for family in ("mariadb", "mysql"))
    return next((path for path in candidates if path.exists()), None)


def account_statements(password: str, address: str | None) -> Iterator[str]:
    """The role and the database under load, as statements of one line each.

    With `skip_name_resolve`, `localhost` is the Unix socket and nothing else. A server with an
    `address` of its own lets in whoever reaches it and knows the password.
    """
    beyond = "127.0.0.1" if address is None else "%"
    for host, identified in (("localhost", "''"), (beyond, f"'{password}'")):
        yield f"CREATE USER '{ROLE}'@'{host}' IDENTIFIED BY {identified};"
        yield f"GRANT ALL PRIVILEGES ON *.* TO '{ROLE}'@'{host}' WITH GRANT OPTION;"
    yield f"CREATE DATABASE {DATABASE};"
