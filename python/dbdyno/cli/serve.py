"""`dbdyno serve`: the store in a browser."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

import click

from dbdyno.cli.options import STORE_VARIABLE
from dbdyno.cli.terminal import say, say_json
from dbdyno.errors import MachineError, UsageError
from dbdyno.formats.hosts import is_loopback

_LEAST_TOKEN = 16
"""Least characters of a token from a file."""


@click.command()
@click.argument(
    "store",
    type=click.Path(path_type=Path),
    required=False,
    default=lambda: Path(os.environ.get(STORE_VARIABLE, "results")),
)
@click.option(
    "--listen",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; any but a loopback address requires a token.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=7423, show_default=True)
@click.option(
    "--host-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="A name that browsers may use for this machine; can be repeated.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the token.  [default: a new one, printed with the address]",
)
@click.option(
    "--grafana", is_flag=True, help="Only print a dashboard of /metrics for Grafana, as JSON."
)
def serve(
    store: Path,
    listen: str,
    port: int,
    names: tuple[str, ...],
    token_file: Path | None,
    *,
    grafana: bool,
) -> None:
    """Show the studies of STORE in a browser, running ones live.

    It only reads the store: running studies never wait for it. Ctrl-C ends it.
    """
    if grafana:
        from dbdyno.serve.grafana import dashboard

        say_json(dashboard())
        return
    # The server takes a third of a second to import: no other command imports it.
    import uvicorn

    from dbdyno.serve.admission import LOOPBACK
    from dbdyno.serve.app import make_app

    if not store.is_dir():
        raise UsageError(f"there is no store {store}", hint="`dbdyno quickstart` creates one")
    token = _token(listen, token_file)
    bound = _bound(listen, port)
    number = bound.getsockname()[1]
    shown = _shown(listen)
    hosts = {*LOOPBACK, shown, *(name.lower() for name in names)}
    if token:
        hosts |= {socket.gethostname().lower(), *_addresses(listen)}
    app = make_app(store.resolve(), hosts, token=token)
    say(f"http://{shown}:{number}/{f'?token={token}' if token else ''}")
    os.nice(5)  # What is measured beside it comes first.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        limit_concurrency=200,
        timeout_keep_alive=10,
    )
    try:
        uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt:
        return


def _token(listen: str, file: Path | None) -> str:
    """The token that requests need; empty if they need none."""
    if file is not None:
        try:
            token = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the token's file {file} can't be read: {error}") from error
        if len(token) < _LEAST_TOKEN:
            raise UsageError(f"the token in {file} is shorter than {_LEAST_TOKEN} characters")
        return token
    return "" if is_loopback(listen) else secrets.token_urlsafe(32)


def _bound(listen: str, port: int) -> socket.socket:
    """A listening socket. Raises `MachineError` if it can't be opened."""
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listen, port))
        bound.listen(128)
    except (OSError, UnicodeError) as error:
        bound.close()
        raise MachineError(
            f"can't listen at {listen}, port {port}: {error}",
            hint="another port (`--port 0`: any) or address",
        ) from error
    return bound


def _shown(listen: str) -> str:
    """How the address is written in a URL."""
    if listen in ("0.0.0.0", "::"):
        return socket.gethostname().lower()
    return f"[{listen}]" if ":" in listen else listen.lower()


def _addresses(listen: str) -> set[str]:
    """Addresses of this machine that browsers elsewhere may use."""
    import psutil

    if listen not in ("0.0.0.0", "::"):
        return set()
    families = (socket.AF_INET, socket.AF_INET6)
    found = [
        address.address.partition("%")[0]
        for there in psutil.net_if_addrs().values()
        for address in there
        if address.family in families
    ]
    return {f"[{address}]" if ":" in address else address for address in found}
