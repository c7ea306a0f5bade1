"""Where a server is that the lab speaks to over a socket of its own, and what its URL says of that.

For protocols whose client libraries the lab does without (Redis, MongoDB).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs

from dbdyno.errors import ServerError

LIMIT_S = 30.0
"""How long a server may take to answer."""
_CERTIFICATES = ("ca", "certificate", "key")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and as whom to enter."""

    unix: str = ""
    """Path of its socket; empty: by TCP."""
    host: str = "127.0.0.1"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    limit_s: float = LIMIT_S

    def __str__(self) -> str:
        return self.unix or f"{self.host}:{self.port}"

    def open_plain(self) -> socket.socket:
        """A new connection without TLS. Raises `OSError`."""
        if not self.unix:
            return socket.create_connection((self.host, self.port), self.limit_s)
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(self.limit_s)
        try:
            made.connect(self.unix)
        except OSError:
            made.close()
            raise
        return made

    def open(self) -> socket.socket:
        """A new connection, by TLS where that is asked for. Raises `OSError`."""
        plain = self.open_plain()
        return self.tls.wrap_socket(plain, server_hostname=self.host) if self.tls else plain


def parameters_of(text: str, known: Collection[str], title: str) -> Mapping[str, str]:
    """The parameters of a URL. Raises `ServerError` for one that is not `known`; `title`: whose
    they are, in its hint."""
    values = {name: texts[-1] for name, texts in parse_qs(text).items()}
    if unknown := sorted(values.keys() - set(known)):
        raise ServerError(
            f"the server's URL has an unknown parameter `{unknown[0]}`",
            hint=f"{title}'s are: {', '.join(sorted(known))}",
        )
    return values


def port_of(parts: SplitResult, default: int) -> int:
    """The port of a URL. Raises `ServerError` for what is none."""
    try:
        return parts.port or default
    except ValueError as error:
        raise ServerError(f"the server's URL has no valid port: {error}") from None


def tls_context(parameters: Mapping[str, str]) -> ssl.SSLContext:
    """By the engine's rule: the server's certificate is checked if the URL names a `ca`. Raises
    `ServerError` for certificates that can't be used."""
    ca = parameters.get("ca")
    try:
        context = ssl.create_default_context(cafile=ca)
        if ca is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate := parameters.get("certificate"):
            context.load_cert_chain(certificate, parameters.get("key"))
    except (OSError, ssl.SSLError) as error:
        raise ServerError(f"the URL's certificates can't be used: {error}") from error
    return context


def target_at(address: Address, parameters: Mapping[str, str]) -> dict[str, object]:
    """Endpoints, user and TLS of a run spec's target."""
    endpoint: object = {"tcp": {"host": address.host, "port": address.port}}
    if address.unix:
        endpoint = {"unix": address.unix}
    target: dict[str, object] = {"endpoints": [endpoint], "user": address.user}
    if address.tls is not None:
        files = {name: parameters[name] for name in _CERTIFICATES if name in parameters}
        target["tls"] = {"mode": "verify-full" if "ca" in files else "require", **files}
    return target
