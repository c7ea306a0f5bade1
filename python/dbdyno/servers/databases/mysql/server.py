"""A MySQL or MariaDB server of one run, with its own data folder, socket and port; removed
afterwards."""

import re
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mysql import query
from dbdyno.servers.databases.mysql.brand import Brand
from dbdyno.servers.databases.mysql.complaint import explained
from dbdyno.servers.databases.mysql.contents import contents
from dbdyno.servers.databases.mysql.initial import account_statements, bootstrap_statements
from dbdyno.servers.databases.mysql.option_file import adjusted, quoted_value
from dbdyno.servers.databases.mysql.session import Address, MysqlSession
from dbdyno.servers.folder_size import size_of_file
from dbdyno.servers.nodes.certificate import has_program
from dbdyno.servers.nodes.own import OwnServer
from dbdyno.servers.protocol import DATABASE, ROLE, Capacity, ServerSpec, Source
from dbdyno.servers.setting import refuse_reserved

_INIT_LIMIT_S = 300.0
_RESERVED = frozenset(
    {
        "basedir",
        "bind_address",
        "datadir",
        "init_file",
        "log_error",
        "pid_file",
        "port",
        "skip_name_resolve",
        "skip_networking",
        "socket",
        "tmpdir",
    }
)
"""Settings that dbdyno needs to reach and watch the server."""
_EACH_OWN = ("auto.cnf",)
"""Files of a new data folder that no two servers have alike: the server's UUID."""
_KEYS = "file_key_management"
"""MariaDB's plugin that reads keys from a file."""


class MysqlServer(OwnServer):
    """Its role has all privileges; there are no other accounts."""

    _DRIVER = "mysql"
    _STOP = signal.SIGTERM
    """It stops as `innodb_fast_shutdown` says."""
    _session: MysqlSession

    def __init__(self, brand: Brand, spec: ServerSpec, folder: Path) -> None:
        self._asked = {name.replace("-", "_"): value for name, value in spec.settings.items()}
        refuse_reserved(self._asked, _RESERVED)
        super().__init__(spec, folder)
        self._brand = brand
        self._root = Path()
        self._has_accounts = False
        self._session = MysqlSession(brand.title, Address(ROLE))

    def start(self) -> None:
        """Installs, initialises, configures, starts and waits until it takes statements."""
        self._root = self._install()
        self._session = MysqlSession(self._brand.title, Address(ROLE, unix=self._socket))
        self._configure()
        self._initialise()
        self._serve()

    @property
    def _data(self) -> Path:
        return self._root / "data"

    @property
    def _program(self) -> Path:
        return self._brand.program(self._installed().folder)

    @property
    def _socket(self) -> Path:
        return self._sockets / "mysql.sock"

    @property
    def _base(self) -> Path:
        """Where the package was unpacked; for a distribution's server, /usr."""
        return self._program.parent.parent

    @property
    def _share(self) -> Path:
        """The folder of messages and of SQL files for the system tables."""
        share = self._base / "share"
        folders = (share, share / "mysql", share / "mariadb")
        return next((folder for folder in folders if (folder / "english").exists()), share)

    def _own_environment(self) -> Mapping[str, str]:
        """Environment in which the package's own libraries are found."""
        libraries = self._base / "libs"
        found = {"LD_LIBRARY_PATH": str(libraries)} if libraries.exists() else {}
        return {**self._environment("MYSQL", "MARIADB"), **found}

    def _is_before_57(self) -> bool:
        """Whether the server's system tables come from SQL files."""
        version = query.version_number(str(self._provision.version))
        return self._brand.is_mariadb or version < 5_07_00

    def _configure(self) -> None:
        """Writes our settings first, then the study's; no other option file is read."""
        self._take_port()
        ours = {
            "basedir": str(self._base),
            "datadir": str(self._data),
            "lc_messages_dir": str(self._share),
            "tmpdir": str(self._root),
            "socket": str(self._socket),
            "pid_file": str(self._root / "server.pid"),
            "bind_address": self._address,
            "port": str(self._port),
            "skip_name_resolve": "ON",
        }
        if not self._is_before_57() and not self._provision_is("5.7"):
            ours["mysqlx"] = "OFF"
        makes_its_own = self._brand.makes_certificate(str(self._provision.version), self._asked)
        if files := self._secured(self._root, anyway=makes_its_own and has_program()):
            ours |= {"ssl_cert": str(files["certificate"]), "ssl_key": str(files["key"])}
        if self._provision.source is Source.DEBIAN:
            ours |= self._places_elsewhere()
        ours |= self._keys()
        lines = [
            f"{name} = {quoted_value(value)}\n" for name, value in {**ours, **self._asked}.items()
        ]
        self._configuration.write_text("[mysqld]\n" + "".join(lines))
        self._daemon.give(self._configuration)
        accounts = account_statements(self._password, self._spec.launch.address)
        if not self._has_accounts:
            text = "\n".join((*self._components(), *accounts)) + "\n"
            self._daemon.write_private(self._accounts, text)

    def _components(self) -> Sequence[str]:
        """Since MySQL 9.6, MD5(), which checksums of tables need, is in a component."""
        places = (self._base / "lib/plugin", self._base / "lib/mysql/plugin")
        name = "component_classic_hashing"
        if not any((place / f"{name}.so").exists() for place in places):
            return ()
        return (f"INSTALL COMPONENT 'file://{name}';",)

    def _places_elsewhere(self) -> Mapping[str, str]:
        """What a distribution's server would look for at its own place in the file system."""
        places = {
            "plugin_dir": str(self._base / "lib/mysql/plugin"),
            "character_sets_dir": str(self._share / "charsets"),
        }
        if not self._brand.is_mariadb:
            places["secure_file_priv"] = "NULL"
        return places

    def _keys(self) -> Mapping[str, str]:
        """A key for this run, if MariaDB encrypts and the study names no key file."""
        plugins = "".join(self._asked.get(name, "") for name in ("plugin_load", "plugin_load_add"))
        if _KEYS not in plugins or f"{_KEYS}_filename" in self._asked:
            return {}
        file = self._root / "keys"
        if not file.exists():  # what the making of the data folder wrote is encrypted with it
            self._daemon.write_private(file, f"1;{secrets.token_hex(32)}\n")
        return {f"{_KEYS}_filename": str(file)}

    def _provision_is(self, series: str) -> bool:
        return str(self._provision.version).startswith(f"{series}.")

    @property
    def _configuration(self) -> Path:
        return self._root / "my.cnf"

    @property
    def _accounts(self) -> Path:
        return self._root / "accounts.sql"

    def _initialise(self) -> None:
        """Provides the data folder: a copy of one made before, unless this server has a key of its
        own, or settings that may place files elsewhere."""
        initial = self._spec.initial
        alone = self._keys() or any("/" in value for value in self._asked.values())
        if initial is None or alone:
            self._make_data()
            return
        made_with = (self._program, *sorted(self._asked.items()))
        account = self._daemon.account
        initial.provide(made_with, self._data, self._make_data, account=account, without=_EACH_OWN)

    def _make_data(self) -> None:
        """Makes the data folder with the study's settings, since some apply only then."""
        argv: list[str | Path] = [self._program, f"--defaults-file={self._configuration}"]
        statements: Path | None = None
        if self._is_before_57():
            self._data.mkdir(mode=0o700)
            self._daemon.give(self._data)
            statements = self._root / "bootstrap.sql"
            statements.write_text(bootstrap_statements(self._share), errors="surrogateescape")
            argv.append("--bootstrap")
        else:
            argv.append("--initialize-insecure")
        log_start = self._daemon.log_size()
        try:
            self._daemon.run_helper(
                argv,
                cwd=self._root,
                env=self._own_environment(),
                limit_s=_INIT_LIMIT_S,
                stdin=statements,
            )
        except ServerError as error:
            raise self._explained(self._daemon.logged_since(log_start)) or error from error
        if statements is not None:
            statements.unlink()

    def _launch(self) -> None:
        self._daemon.launch(
            [
                self._program,
                f"--defaults-file={self._configuration}",
                *([] if self._has_accounts else [f"--init-file={self._accounts}"]),
            ],
            cwd=self._root,
            env=self._own_environment(),
            death_signal=signal.SIGKILL,
        )

    def _greet(self) -> None:
        self._session.rows(f"USE {DATABASE}")
        self._accounts.unlink(missing_ok=True)
        self._has_accounts = True

    def _not_started(self, reason: str) -> ServerError:
        return self._explained(self._logged()) or ServerError(
            f"{self._daemon.name} did not start: {reason}", hint=self._daemon.log_tail()
        )

    def _explained(self, log: str) -> ServerError | None:
        daemon = self._daemon
        return explained(daemon.name, log, daemon.log_tail(), lambda: self._defaults)

    @cached_property
    def _defaults(self) -> Mapping[str, str]:
        """The server's settings and their defaults, as its help lists them."""
        account = self._daemon.account
        described = subprocess.run(
            [
                self._program,
                "--no-defaults",
                f"--basedir={self._base}",
                *([f"--user={account.name}"] if account else []),
                "--verbose",
                "--help",
            ],
            capture_output=True,
            text=True,
            errors="replace",
            env=self._own_environment(),
            cwd="/",
            check=False,
        )
        _, _, table = described.stdout.partition("\n--------")
        pairs = re.findall(r"^([a-z][a-z0-9-]+) +(\S.*)$", table, re.MULTILINE)
        return {name.replace("-", "_"): value.strip() for name, value in pairs}

    def facts(self) -> Mapping[str, object]:
        """Facts about the package, the program and the running server."""
        return {
            **self._package_facts(),
            **query.facts(self._session, DATABASE),
            "settings_changed": self._settings_changed(),
            "settings_adjusted": adjusted(self._asked, self.settings()),
        }

    def _settings_changed(self) -> Mapping[str, Mapping[str, str]]:
        changed = query.settings_changed(self._session)
        if changed is not None:
            return changed
        effective = self.settings()
        return {
            name: {
                "value": effective.get(name, value),
                "default_value": self._defaults.get(name, ""),
                "source": "CONFIG",
            }
            for name, value in sorted(self._asked.items())
        }

    def settings(self) -> Mapping[str, str]:
        """All global settings."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server, which is used only by us."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Size of the database's files; with one tablespace for all, its size."""
        shared = [] if list(self._files(DATABASE, "*.ibd")) else self._files(".", "ibdata*")
        # RocksDB's newest rows are in its log alone.
        rocksdb = [*self._files("#rocksdb", "*.sst"), *self._files("#rocksdb", "*.log")]
        files = [*self._files(DATABASE, "*"), *shared, *rocksdb]
        return sum(size for path in files if (size := size_of_file(path)))

    def ask(self) -> SampledSession | None:
        """Over the socket; its statements count among the server's own."""
        return MysqlSession(self._brand.title, Address(ROLE, unix=self._socket))

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the database under load."""
        return contents(self._inside(), table, checksum=checksum)

    def inside(self) -> Session:
        """Opens a session as its role."""
        return self._inside()

    def _inside(self) -> MysqlSession:
        address = Address(ROLE, database=DATABASE, unix=self._socket)
        return MysqlSession(self._brand.title, address, answer_limit_s=None)

    def table_files(self, table: str) -> Sequence[Path]:
        """Files named after it; for RocksDB those of all tables; with one tablespace for all, that
        one."""
        own = [path for path in self._files(DATABASE, f"{table}.*") if path.suffix != ".frm"]
        rocksdb = [
            path for ending in ("sst", "log") for path in self._files("#rocksdb", f"*.{ending}")
        ]
        return own or rocksdb or self._files(".", "ibdata*")

    def tables(self) -> Mapping[str, str]:
        """Tables of the database under load."""
        return query.tables(self._session, DATABASE)

    def _files(self, folder: str, pattern: str) -> Sequence[Path]:
        return list((self._data / folder).glob(pattern))
