"""The client's side of SCRAM-SHA-256 (RFC 5802, 7677), without channel binding."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from dbdyno.errors import ServerError

MECHANISM = "SCRAM-SHA-256"
_ROUNDS = range(4096, 2_000_001)
_NUMBER = re.compile(r"[0-9]{1,9}")
_HEADER = "n,,"


class Scram:
    """`first`, then `answer` to the server's first message, then `finish` with its last."""

    def __init__(self, user: str, password: str) -> None:
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._nonce = secrets.token_urlsafe(24)
        self._password = password
        self._first = f"n={name},r={self._nonce}"
        self._expected = b""

    def first(self) -> bytes:
        """The first message."""
        return f"{_HEADER}{self._first}".encode()

    def answer(self, message: bytes) -> bytes:
        """The answer to the server's first message.

        # Errors
        `ServerError` if it answers somebody else, or asks for an absurd number of rounds.
        """
        fields = _fields(message)
        nonce, rounds = fields.get("r", ""), fields.get("i", "")
        if not (
            message.isascii()
            and nonce.startswith(self._nonce)
            and _NUMBER.fullmatch(rounds)
            and int(rounds) in _ROUNDS
        ):
            raise ServerError(f"the server's side of {MECHANISM} is out of order")
        salted = hashlib.pbkdf2_hmac(
            "sha256", self._password.encode(), _decoded(fields.get("s", "")), int(rounds)
        )
        last = f"c={base64.b64encode(_HEADER.encode()).decode()},r={nonce}"
        signed = f"{self._first},{message.decode()},{last}".encode()
        key = _keyed(salted, b"Client Key")
        signature = _keyed(hashlib.sha256(key).digest(), signed)
        proof = bytes(ours ^ theirs for ours, theirs in zip(key, signature, strict=True))
        self._expected = _keyed(_keyed(salted, b"Server Key"), signed)
        return f"{last},p={base64.b64encode(proof).decode()}".encode()

    def finish(self, message: bytes) -> None:
        """Checks the server's last message.

        # Errors
        `ServerError` if it does not know the password either.
        """
        proof = _decoded(_fields(message).get("v", ""))
        if not self._expected or not hmac.compare_digest(proof, self._expected):
            raise ServerError(f"the server does not prove itself in {MECHANISM}")


def _fields(message: bytes) -> dict[str, str]:
    parts = message.decode(errors="replace").split(",")
    return {part[:1]: part[2:] for part in parts if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _keyed(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")
