"""Several pgbouncers in front of one PostgreSQL, for more connections than a server or a process
may have: each on a loopback address of its own, since the kernel counts ports by address.

Root gets a network of its own for them, with more ports, and the machine's limits stay as they are.
Others use the machine's.
"""

import ctypes
import os
import resource
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from dbdyno.collect import machine_limits
from dbdyno.errors import MachineError
from dbdyno.guard.account import server_account
from dbdyno.servers.topologies.proxies.proxy import open_files

LEAST = 6
"""Poolers, where fewer would have files enough: each has one thread, and so many share the work."""
PORT = 6432
_SERVERS_A_POOLER = 8
_OWN_FILES = 200
_START_S = 10.0
_PORTS = "10000 65000"
"""The kernel tries every second port first. Once those towards an address are taken it goes through
all of them for each connection, so a range is slow well before it is used up."""
_CLONE_NEWNET = 0x40000000
_MEMORY_A_CONNECTION = 60_000
"""Bytes: the client's, the pooler's, and both ends of the socket in the kernel, with room."""

_CONFIGURATION = """\
[databases]
{database} = host={folder} port={port} user={user}
[pgbouncer]
listen_addr = {address}
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = {clients}
default_pool_size = {servers}
listen_backlog = 4096
pkt_buf = 2048
log_connections = 0
log_disconnections = 0
ignore_startup_parameters = extra_float_digits
"""


def count_for(clients: int, least: int = LEAST) -> int:
    """So many poolers can hold these clients."""
    return max(least, -(-clients // (open_files() - _OWN_FILES)))


@contextmanager
def own_network() -> Iterator[None]:
    """Lets this thread and what it starts live in a network of its own, if we are root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as before:
        if libc.unshare(_CLONE_NEWNET) != 0:
            # A container's root may not; the machine's own network has to do.
            yield
            return
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            with suppress(OSError):  # read-only in some containers
                Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(_PORTS)
            yield
        except FileNotFoundError as error:
            raise MachineError(
                f"no `{error.filename}` to set a network up", hint="`apt-get install iproute2`"
            ) from error
        finally:
            libc.setns(before.fileno(), _CLONE_NEWNET)


def require(clients: int, poolers: int) -> None:
    """Raises `MachineError` with everything the poolers lack on this machine. What the client
    itself needs, `dbdyno bench` checks."""
    limits = machine_limits()
    memory, needed = psutil.virtual_memory().available, clients * _MEMORY_A_CONNECTION
    missing = []
    if shutil.which("pgbouncer") is None:
        missing.append(("no pgbouncer", "`apt-get install pgbouncer`"))
    if limits.files_of_all is not None and limits.files_of_all < 2 * clients:
        missing.append(
            (
                f"{limits.files_of_all:,} open files on the whole machine; {2 * clients:,} needed",
                f"`sysctl -w fs.file-max={4 * clients}`",
            )
        )
    if limits.ports is not None and limits.ports * poolers < clients:
        missing.append(
            (
                f"{limits.ports:,} local ports; {-(-clients // poolers):,} needed",
                "`sysctl -w net.ipv4.ip_local_port_range='10000 65000'`",
            )
        )
    if memory < needed:
        missing.append(
            (
                f"{memory >> 20:,} MiB of memory available; {needed >> 20:,} needed",
                "give the machine more, or leave it out: BENCH_MOST_CLIENTS=16000",
            )
        )
    if missing:
        raise MachineError(
            f"{clients:,} connections do not fit this machine:\n"
            + "\n".join(f"  {what}" for what, _ in missing),
            hint="\n      ".join(cure for _, cure in missing),
        )


@contextmanager
def pooled(
    target: Mapping[str, Any], clients: int, *, least: int = LEAST
) -> Iterator[Mapping[str, Any]]:
    """Poolers before the PostgreSQL of `target`, a Unix socket: the target they are together.

    # Errors
    `MachineError` when they don't fit or don't start, with what they said.
    """
    poolers = count_for(clients, least)
    require(clients, poolers)
    files = min(open_files() - _OWN_FILES, -(-clients // poolers) + _OWN_FILES)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    addresses = [f"127.0.0.{number}" for number in range(1, poolers + 1)]
    with ExitStack() as running:
        folder = Path(running.enter_context(TemporaryDirectory(prefix="dbdyno-poolers-")))
        if (account := server_account()) is not None:
            os.chown(folder, account.uid, account.gid)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # they inherit it
        running.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        started = [
            running.enter_context(_pooler(target, address, files, folder)) for address in addresses
        ]
        for address, (process, log) in zip(addresses, started, strict=True):
            _await(address, process, log)
        yield {
            "driver": "postgresql",
            "endpoints": [{"tcp": {"host": address, "port": PORT}} for address in addresses],
            "user": target["user"],
            "database": target["database"],
        }


@contextmanager
def _pooler(
    target: Mapping[str, Any], address: str, clients: int, folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    socket_path = Path(target["endpoints"][0]["unix"])
    configuration = folder / f"pgbouncer-{address}.ini"
    configuration.write_text(
        _CONFIGURATION.format(
            database=target["database"],
            user=target["user"],
            folder=socket_path.parent,
            port=socket_path.name.removeprefix(".s.PGSQL."),
            address=address,
            listen_port=PORT,
            clients=clients,
            servers=_SERVERS_A_POOLER,
        )
    )
    log = folder / f"pgbouncer-{address}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(_command(configuration), stdout=output, stderr=output)
    try:
        yield process, log
    finally:
        process.kill()  # it would wait for its clients
        process.wait()


def _command(configuration: Path) -> Sequence[str]:
    """It ends with us, and as whom the servers run: it refuses to be root."""
    account = server_account()
    who = []
    if account is not None:
        who = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    return ["setpriv", *who, "--pdeathsig=KILL", "pgbouncer", str(configuration)]


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((address, PORT), timeout=1.0).close()
        except OSError:
            select.select([], [], [], 0.02)
        else:
            return
    raise MachineError(
        f"no pgbouncer on {address}:{PORT}", hint=log.read_text(errors="replace")[-1000:]
    )
