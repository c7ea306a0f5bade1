"""A store that is served, asked over real connections."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from dbdyno.serve.admission import LOOPBACK
from dbdyno.serve.app import make_app


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Served:
    port: int

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Asks; a header's name has `_` for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        host = named.pop("Host", f"127.0.0.1:{self.port}")
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": host, **named}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        result = Answer(answer.status, dict(answer.getheaders()), answer.read())
        connection.close()
        return result

    def raw(self, asked: bytes) -> bytes:
        """Everything that the server answers to these bytes, which ask it to close."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=600) as connection:
            connection.sendall(asked)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def events(self, path: str, count: int, **headers: str) -> list[tuple[int, str, Any]]:
        """The first so many events of a stream: number, kind, data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(
            "GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        answer = connection.getresponse()
        assert answer.status == 200
        events: list[tuple[int, str, Any]] = []
        event: dict[str, str] = {}
        while len(events) < count:
            name, _, value = answer.readline().decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif event:
                events.append((int(event["id"]), event["event"], json.loads(event["data"])))
                event = {}
        connection.close()
        return events


@contextmanager
def serving(store: Path, *, token: str = "") -> Iterator[Served]:
    """The application at a port of loopback that the system chooses."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen(128)
    app = make_app(store, LOOPBACK, token=token)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield Served(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
