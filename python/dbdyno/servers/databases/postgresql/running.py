"""An existing PostgreSQL server: inspected and loaded, never stopped or altered."""

import re
from collections.abc import Mapping, Sequence

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.postgresql import query
from dbdyno.servers.databases.postgresql.contents import contents
from dbdyno.servers.databases.postgresql.session_setting import try_setting
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_TLS_FILES = {"ca": "sslrootcert", "certificate": "sslcert", "key": "sslkey"}


def _in_words(error: psycopg.Error) -> str:
    """What libpq says, without the parts of the URL that it quotes: one may be a password."""
    return re.sub(r'"[^"]*"', "…", " ".join(str(error).split()))


class RunningPostgresql(RunningServer):
    """The server behind a `postgresql://` URL; libpq's environment variables apply."""

    _session: query.PostgresqlSession

    def __init__(self, spec: ServerSpec) -> None:
        provision = spec.provision
        assert provision.url is not None, "a provision by URL has one"
        super().__init__(provision.url, spec, "postgresql:18.4")
        self._url = provision.url
        try:
            self._parameters = conninfo_to_dict(self._url)
        except psycopg.ProgrammingError as error:
            raise ServerError(
                f"the server's URL can't be read: {_in_words(error)}",
                hint="expected `postgresql://user:password@host:port/database`, or "
                "`postgresql://user@/database?host=/socket/folder&port=5432`",
            ) from error
        self._session = query.PostgresqlSession(self._url, connect_timeout=ANSWER_LIMIT_S)

    def _addresses(self) -> int:
        return self._session.addresses()

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Every host in the URL; the URL itself decides `transport`."""
        info = self._session.connection().info
        target: dict[str, object] = {
            "driver": "postgresql",
            "endpoints": self._endpoints(info),
            "user": info.user,
            "database": info.dbname,
            "tls": self._tls(),
        }
        if info.password:
            target["password"] = info.password
        return self._with_settings(target)

    def _try_settings(self) -> None:
        session = query.PostgresqlSession(self._url, connect_timeout=ANSWER_LIMIT_S)
        try:
            for name, value in self._wanted.items():
                try_setting(session, name, value)
        finally:
            session.close()

    def _endpoints(self, info: psycopg.ConnectionInfo) -> Sequence[Mapping[str, object]]:
        hosts = str(self._parameters.get("host") or info.host).split(",")
        ports = str(self._parameters.get("port") or info.port).split(",")
        if len(ports) == 1:
            ports *= len(hosts)
        if len(ports) != len(hosts):
            raise ServerError(f"the URL names {len(hosts)} hosts and {len(ports)} ports")
        return [
            {"unix": f"{host}/.s.PGSQL.{port}"}
            if host.startswith("/")
            else {"tcp": {"host": host, "port": int(port)}}
            for host, port in zip(hosts, ports, strict=True)
        ]

    def _tls(self) -> Mapping[str, object]:
        # Not libpq's own default `prefer`: whether a number includes encryption must not depend on
        # what the server happens to offer.
        mode = str(self._parameters.get("sslmode") or "disable")
        files = {
            name: str(self._parameters[parameter])
            for name, parameter in _TLS_FILES.items()
            if self._parameters.get(parameter)
        }
        return {"mode": "prefer" if mode == "allow" else mode, **files}

    def facts(self) -> Mapping[str, object]:
        """Facts reported by the server; its package is unknown."""
        return {"kind": "postgresql", "source": "url", **query.facts(self._session)}

    def settings(self) -> Mapping[str, str]:
        """Settings that our role may see."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the URL's database, including the lab's own few transactions."""
        return query.counters(self._session, self._session.connection().info.dbname)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Size of the URL's database."""
        return query.size_bytes(self._session, self._session.connection().info.dbname)

    def ask(self) -> SampledSession | None:
        """In the database of the URL."""
        return query.PostgresqlSession(self._url)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table in the URL's database."""
        return contents(query.PostgresqlSession(self._url), table, checksum=checksum)
