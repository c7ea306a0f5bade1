"""A server behind proxies: clients connect to the proxies, the lab and data loads to the server."""

from __future__ import annotations

import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from dbdyno.errors import ServerError
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.guard.locked_folder import LOCK_NAME
from dbdyno.servers.nodes.daemon import Daemon, free_port
from dbdyno.servers.nodes.place import socket_folder
from dbdyno.servers.protocol import (
    Capacity,
    Database,
    Member,
    Members,
    Node,
    Promotion,
    Server,
    ServerSpec,
    Transport,
    Wish,
)
from dbdyno.servers.sources.tool import Tool, tool_text
from dbdyno.servers.topologies.proxies.proxy import Behind, Post, Redirect
from dbdyno.servers.topologies.proxies.registry import find_proxy
from dbdyno.servers.topologies.topology import Openers, Topology

_READY_LIMIT_S = 15.0
_POLL_S = 0.02
_LOOPBACK = "127.0.0.1"
PROXIES = "proxy"
"""What all proxies together are called where members of a topology are named."""
_ALL_FILES = ("sh", "-c", 'ulimit -S -n "$(ulimit -H -n)"; exec "$@"', "sh")
"""Raises the limit of open files: poolers don't do it themselves."""


class ProxiedServer:
    """A server of ours, and several proxy processes in front of it, under their own guard."""

    def __init__(
        self, server: Server, wish: Wish, tool: Callable[[], Tool], launch: Launch, folder: Path
    ) -> None:
        self._server = server
        self._wish = wish
        self._proxy = find_proxy(wish.kind)
        self._tool = tool
        self._folder = folder.absolute()
        self._launch = launch
        self._guarded = Guarded()
        self._daemons: list[Daemon] = []
        self._posts: list[Post] = []
        self._places: list[str] = []
        """Names of the members in the order in which the proxies have them."""
        self._facts: Mapping[str, object] = {}

    @property
    def node(self) -> Node:
        """That of the server: the proxies go on whatever becomes of it."""
        return self._server.node

    @property
    def database(self) -> Database:
        """That of the server: it is asked, not the proxies."""
        return self._server.database

    @property
    def entry(self) -> Self:
        """The proxies: clients connect to them."""
        return self

    @property
    def members(self) -> Members:
        """Those of the server behind it; clients follow a promotion if the proxy can be redirected,
        else there is none."""
        behind = self._server.members
        places = [*filter(None, map(self._proxy.metrics, self._posts))]
        own = {self._wish.kind: places} if places else {}
        members = replace(behind, front=self._front, exposed={**behind.exposed, **own})
        promotion, redirect = members.promotion, self._proxy.redirect
        if members.supervisor is not None and self._proxy.checks_health:
            return members
        if promotion is None or redirect is None:
            return replace(members, promotion=None)
        followed = _Followed(promotion, redirect, self._posts, self._places)
        return replace(members, promotion=followed)

    @property
    def _front(self) -> _Proxies:
        return _Proxies(self._end_proxies, self._start_proxies)

    def _start_proxies(self, limit_s: float) -> None:
        """Starts those that have ended; each waits for its socket."""
        tool = self._tool()
        for post, daemon in zip(self._posts, self._daemons, strict=True):
            self._run(post, daemon, tool)
        for post, daemon in zip(self._posts, self._daemons, strict=True):
            _await(self._proxy.socket(post), daemon, limit_s)
            if self._proxy.redirect is not None and post.chosen:
                first = next(iter(self._server.members))
                self._proxy.redirect(post, self._places.index(first.name))

    def start(self) -> None:
        """Starts the server, then its proxies."""
        self._server.start()
        self._require_room()
        tool = self._tool()
        self._facts = {
            "kind": self._wish.kind,
            "processes": self._wish.processes,
            "settings": dict(self._wish.settings),
            **{name: value for name, value in tool.facts.items() if name != "kind"},
        }
        for number in range(1, self._wish.processes + 1):
            self._launch_one(number, tool)
        for post, daemon in zip(self._posts, self._daemons, strict=True):
            _await(self._proxy.socket(post), daemon)

    def _require_room(self) -> None:
        """Checks that the server allows all connections that the proxies may open."""
        of_process = self._proxy.server_connections(self._wish.settings)
        room = self._server.entry.capacity()
        if of_process is None or room.connections is None:
            return
        needed = of_process * self._wish.processes
        if needed > room.connections:
            raise ServerError(
                f"{self._wish.processes} × {self._wish.kind} may open {needed} connections with "
                f"the server ({room.basis}), which has {room.connections} left",
                hint="raise the server's max_connections, or take a smaller pool in the proxy's "
                "`settings`",
            )

    def _launch_one(self, number: int, tool: Tool) -> None:
        name = f"{self._wish.kind} {tool.version} ({number} of {self._wish.processes})"
        log = self._folder / f"{self._wish.kind}-{number}.log"
        daemon = Daemon(name, log, self._launch, self._guarded)
        daemon.prepare()
        folder = socket_folder(self._guarded, server_account())
        first, *standby = self._behind()
        self._places = [member.name for member in self._server.members]
        post = Post(
            server=first,
            standby=standby,
            chosen=self._is_redirected(),
            address=self._launch.address or _LOOPBACK,
            port=free_port(),
            folder=folder,
            settings=self._wish.settings,
        )
        self._proxy.write(post)
        for file in folder.iterdir():
            # The lock stays ours: a clean-up removes only what is locked by its own user.
            if file.is_file() and file.name != LOCK_NAME:
                daemon.give(file, mode=0o600)
        self._run(post, daemon, tool)
        self._daemons.append(daemon)
        self._posts.append(post)

    def _run(self, post: Post, daemon: Daemon, tool: Tool) -> None:
        daemon.launch(
            [*_ALL_FILES, *self._proxy.within, tool.path, *self._proxy.arguments(post.folder)],
            cwd=post.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            death_signal=signal.SIGKILL,
            kept=self._proxy.forks,
        )

    def _is_redirected(self) -> bool:
        """Whether it is the lab that sends clients to a promoted server."""
        members = self.members
        return members.promotion is not None and members.supervisor is None

    def _behind(self) -> Sequence[Behind]:
        """The servers that clients may be sent to, the first first."""
        members = self._server.members
        if not (self._is_redirected() or (members.alike and self._proxy.checks_health)):
            entry = self._server.entry
            return [Behind.of(entry.target("unix"), entry.target("tcp"))]
        supervisor = members.supervisor
        return [
            Behind.of(
                member.server.entry.target("unix"),
                member.server.entry.target("tcp"),
                None if supervisor is None else supervisor.health_check(member.name),
            )
            for member in members
        ]

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Every proxy process, over TCP."""
        places = [{"tcp": {"host": post.address, "port": post.port}} for post in self._posts]
        return {**self._server.entry.target("tcp"), "endpoints": places}

    def fill_target(self) -> Mapping[str, object]:
        """The server itself."""
        return self._server.entry.fill_target()

    def facts(self) -> Mapping[str, object]:
        """The server's facts, and the proxy's."""
        return {**self._server.facts(), "proxy": self._facts}

    def capacity(self) -> Capacity:
        """Clients of all processes together; a TCP proxy also has the server's limit."""
        of_process, count = self._proxy.most_clients(self._wish.settings), self._wish.processes
        behind = self._server.entry.capacity()
        pooled = self._proxy.server_connections(self._wish.settings) is not None
        if (
            not pooled
            and behind.connections is not None
            and behind.connections < of_process * count
        ):
            return behind
        return Capacity(
            connections=of_process * count,
            basis=f"{count} × {of_process:,} of {self._wish.kind}",
            cure="more `processes` of the proxy, or a higher hard limit: `ulimit -Hn`",
            accept_queue=None if pooled else behind.accept_queue,
        )

    def alive(self) -> bool:
        """Whether server and proxies run."""
        return self._server.alive() and all(daemon.alive() for daemon in self._daemons)

    def check(self) -> None:
        """Raises if any of them has ended."""
        self._server.check()
        for daemon in self._daemons:
            daemon.check()

    def proxies(self) -> Sequence[int]:
        """Pids of the proxies."""
        return [pid for daemon in self._daemons for pid in daemon.processes()]

    def log_files(self) -> Sequence[Path]:
        """Logs of server and proxies."""
        return (*self._server.log_files(), *(daemon.log for daemon in self._daemons))

    def stop(self) -> None:
        """Kills the proxies, which would wait for their clients; then stops the server."""
        self._end_proxies()
        self._server.stop()

    def _end_proxies(self) -> None:
        for daemon in self._daemons:
            daemon.end(signal.SIGKILL)

    def close(self) -> None:
        """Ends proxies and server, and removes their folders."""
        try:
            self._end_proxies()
            self._guarded.close()
        finally:
            self._server.close()


@dataclass(frozen=True, slots=True)
class _Followed:
    """Promotions behind proxies, which follow them."""

    behind: Promotion
    redirect: Redirect
    posts: Sequence[Post]
    places: Sequence[str]

    def end(self, limit_s: float) -> None:
        """Its clients stay with it."""
        self.behind.end(limit_s)

    def promote(self, limit_s: float) -> Member:
        """Sends the clients to the promoted server."""
        chosen = self.behind.promote(limit_s)
        for post in self.posts:
            self.redirect(post, self.places.index(chosen.name))
        return chosen

    def rejoin(self, member: Member, limit_s: float) -> None:
        """The proxies send nobody there."""
        self.behind.rejoin(member, limit_s)


@dataclass(frozen=True, slots=True)
class _Proxies:
    """All proxies of a server, to be killed and started again."""

    kill: Callable[[], None]
    restart: Callable[[float], None]


def _await(path: Path, daemon: Daemon, limit_s: float = _READY_LIMIT_S) -> None:
    """Waits until it accepts connections."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                return
            except OSError:
                select.select([], [], [], _POLL_S)
        daemon.check()
    raise ServerError(
        f"{daemon.name} takes no connections after {limit_s:.0f} s", hint=daemon.log_tail()
    )


def proxied(server: Server, spec: ServerSpec, openers: Openers, folder: Path) -> Server:
    """A server, or several, behind the proxies of its spec."""
    wish = spec.proxy
    assert wish is not None, "a study file's `proxy` makes this topology"
    text = tool_text(wish.kind, wish.version)
    # Of how the server is started, a proxy shares the network alone.
    network = Launch(network=spec.launch.network, address=spec.launch.address)
    launch = network.joined(spec.launches.get(PROXIES, ORDINARY))
    return ProxiedServer(server, wish, partial(openers.tool, text), launch, folder)


def _open(spec: ServerSpec, _keys: Any, openers: Openers, folder: Path) -> Server:
    return proxied(openers.server(spec, folder), spec, openers, folder)


TOPOLOGY = Topology("behind-proxy", _open)
"""Its one key, `proxy`, is read with the server's own (`conduct/proxy.py`)."""
