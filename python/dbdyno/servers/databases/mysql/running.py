"""An existing MySQL or MariaDB server: inspected and loaded, never altered."""

import configparser
import os
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pymysql.optionfile import Parser

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mysql import query
from dbdyno.servers.databases.mysql.brand import Brand
from dbdyno.servers.databases.mysql.contents import contents
from dbdyno.servers.databases.mysql.session import Address, MysqlSession
from dbdyno.servers.databases.mysql.session_setting import try_setting
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_DEFAULT_PORT = 3306
_MODES = {
    "disabled": "disable",
    "preferred": "prefer",
    "required": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
"""MySQL's names of TLS modes → those of the run spec."""
_TLS_FILES = {"ca": "ssl-ca", "certificate": "ssl-cert", "key": "ssl-key"}
_ASKS = "get-server-public-key"
_FILE = "defaults-file"
_KNOWN = frozenset({"socket", "ssl-mode", _ASKS, _FILE, *_TLS_FILES.values()})


class RunningMysql(RunningServer):
    """The server behind a `mysql://` or `mariadb://` URL."""

    _session: MysqlSession

    def __init__(self, brand: Brand, spec: ServerSpec) -> None:
        provision = spec.provision
        assert provision.url is not None, "a provision by URL has one"
        super().__init__(provision.url, spec, brand.example)
        self._brand = brand
        self._url = urlsplit(provision.url)
        self._parameters = dict(parse_qsl(self._url.query))
        self._user = unquote(self._url.username or "")
        self._password = unquote(self._url.password or "")
        self._database = unquote(self._url.path.lstrip("/"))
        self._check_url()
        if self._url.password is None:
            self._password = _password_elsewhere(self._parameters.get(_FILE))
        self._hosts = _hosts(self._url, brand)
        self._session = MysqlSession(brand.title, self._address(), greeting_limit_s=ANSWER_LIMIT_S)

    def _check_url(self) -> None:
        expected = (
            f"expected `{self._brand.kind}://user:password@host:port/database`, or "
            f"`{self._brand.kind}://user@/database?socket=/path/of/socket`"
        )
        if not self._user or not self._database:
            raise ServerError("the server's URL names no user or no database", hint=expected)
        if unknown := sorted(set(self._parameters) - _KNOWN):
            raise ServerError(
                f"`{unknown[0]}` is not a parameter of a server's URL",
                hint=f"known: {', '.join(sorted(_KNOWN))}; {expected}",
            )
        mode = self._parameters.get("ssl-mode", "preferred").lower()
        if mode not in _MODES:
            raise ServerError(
                f"`{mode}` is not a TLS mode", hint=f"known: {', '.join(sorted(_MODES))}"
            )

    def _socket(self) -> Path | None:
        return Path(self._parameters["socket"]) if "socket" in self._parameters else None

    def _address(self) -> Address:
        host, port = self._hosts[0]
        return Address(
            user=self._user,
            password=self._password,
            database=self._database,
            unix=self._socket(),
            host=host,
            port=port,
            tls=self._tls_context(),
            prefers_tls=self._tls()["mode"] == "prefer",
            asks_for_public_key=self._asks(),
        )

    def _asks(self) -> bool:
        return self._parameters.get(_ASKS, "").lower() in ("1", "true", "on", "yes")

    def _tls(self) -> Mapping[str, object]:
        """The run spec's `tls`. A Unix socket is encrypted only if required."""
        default = "disabled" if self._socket() else "preferred"
        mode = _MODES[self._parameters.get("ssl-mode", default).lower()]
        files = {n: self._parameters[p] for n, p in _TLS_FILES.items() if p in self._parameters}
        return {"mode": mode, **files}

    def _tls_context(self) -> ssl.SSLContext | None:
        """TLS of the lab's own session: only if encryption is required."""
        tls = self._tls()
        if tls["mode"] in ("disable", "prefer"):
            return None
        try:
            context = ssl.create_default_context(cafile=self._parameters.get("ssl-ca"))
            context.check_hostname = tls["mode"] == "verify-full"
            if tls["mode"] == "require":
                context.verify_mode = ssl.CERT_NONE
            if "certificate" in tls:
                context.load_cert_chain(str(tls["certificate"]), self._parameters.get("ssl-key"))
        except OSError as error:
            raise ServerError(
                f"the TLS files of the server's URL can't be used: {error}",
                hint="`ssl-ca`, `ssl-cert` and `ssl-key` name PEM files",
            ) from error
        return context

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Every host in the URL; the URL itself decides `transport`."""
        if path := self._socket():
            endpoints: Sequence[Mapping[str, object]] = [{"unix": str(path)}]
        else:
            endpoints = [{"tcp": {"host": host, "port": port}} for host, port in self._hosts]
        target: dict[str, object] = {
            "driver": "mysql",
            "endpoints": endpoints,
            "user": self._user,
            "database": self._database,
            "tls": self._tls(),
        }
        if self._asks():
            target["asks_for_public_key"] = True
        if self._password:
            target["password"] = self._password
        return self._with_settings(target)

    def _try_settings(self) -> None:
        session = MysqlSession(self._brand.title, self._address())
        try:
            for name, value in self._wanted.items():
                try_setting(session, name, value)
        finally:
            session.close()

    def facts(self) -> Mapping[str, object]:
        """Facts reported by the server; its package is unknown."""
        return {
            "kind": self._brand.kind,
            "source": "url",
            **query.facts(self._session, self._database),
            "settings_changed": query.settings_changed(self._session),
        }

    def settings(self) -> Mapping[str, str]:
        """All global settings."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server: those of other users are included."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Size of the database in the URL."""
        return query.size_bytes(self._session, self._database)

    def ask(self) -> SampledSession | None:
        """As the user of the URL."""
        return MysqlSession(self._brand.title, self._address())

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the URL's database."""
        session = MysqlSession(self._brand.title, self._address(), answer_limit_s=None)
        return contents(session, table, checksum=checksum)


def _password_elsewhere(file: str | None) -> str:
    """The password of an option file's section `[client]`, or of the environment (`MYSQL_PWD`), as
    MySQL's own programs take it. Raises `ServerError` if the file can't be read."""
    if file is None:
        return os.environ.get("MYSQL_PWD", "")
    try:
        options = Parser(strict=False)
        options.read_string(Path(file).expanduser().read_text())
        return options.get("client", "password")
    except (OSError, ValueError, TypeError, configparser.Error) as error:
        text = getattr(error, "strerror", None) or type(error).__name__
        raise ServerError(
            f"`{_FILE}`: {file} gives no password: {text}",
            hint="expected an option file of MySQL's: a section `[client]` with `password = …`",
        ) from None


def _hosts(url: SplitResult, brand: Brand) -> Sequence[tuple[str, int]]:
    """Host and port of each server in the URL, separated by commas."""
    listed = url.netloc.rpartition("@")[2] or "127.0.0.1"
    found = []
    for place in listed.split(","):
        parts = urlsplit(f"//{place}")
        try:
            found.append((parts.hostname or "127.0.0.1", parts.port or _DEFAULT_PORT))
        except ValueError as error:
            raise ServerError(
                f"`{place}` in the server's URL is not a host and port: {error}",
                hint=f"for example `{brand.kind}://user@db.example:3306/sbtest`",
            ) from error
    return found
