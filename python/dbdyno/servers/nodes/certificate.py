"""A self-signed certificate for one run's server: for encryption, not for authentication."""

import os
import shutil
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.nodes.daemon import Daemon

PROGRAM = "openssl"
PACKAGE = "openssl"
_KEY = "rsa:2048"
_DAYS = "365"
_LIMIT_S = 60.0


def has_program() -> bool:
    """Whether certificates can be made here."""
    return shutil.which(PROGRAM) is not None


def make_certificate(daemon: Daemon, certificate: Path, key: Path, address: str) -> None:
    """Writes both as the server's account; nobody else can read the key.

    # Errors
    `ServerError` when there is no openssl, or it fails.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise ServerError(
            f"there is no program `{PROGRAM}` to make a certificate for TLS",
            hint=f"`apt-get install {PACKAGE}`",
        )
    words = ["req", "-x509", "-nodes", "-newkey", _KEY, "-days", _DAYS, "-batch"]
    names = ["-subj", f"/CN={address}", "-addext", f"subjectAltName=IP:{address}"]
    daemon.run_helper(
        [program, *words, *names, "-keyout", key, "-out", certificate],
        cwd=certificate.parent,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        limit_s=_LIMIT_S,
        # Its dots, a screenful, would hide what the server says.
        output=daemon.log.with_name("openssl.log"),
    )
    daemon.give(key, mode=0o600)
