"""The only process that imports Ray: between the lab, by lines of JSON, and the actors on hosts.

Ray ends the process that has called `ray.init` when the cluster's head is lost; that must not be
the lab, which has runs to store. `cluster.py` is the other end. Lab and driver end together: the
driver when its standard input ends.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from dbdyno.places.ray_host import LoadHost

POLL_S = 1.0
"""How long a host's actor waits for output before it answers that there is none."""
SILENCE_S = 10.0
"""A host that does not answer for so long is lost, even if Ray has not noticed yet."""

_CONNECT_LIMIT_S = 150.0
_CLOSE_LIMIT_S = 5.0
_CLOCK_EVERY_S = 5.0
_TRIPS_OF_BURST = 10
_CALLS_AT_A_TIME = 16
_ENVIRONMENT = {"RAY_kill_child_processes_on_worker_exit": "false"}
"""Of the actors: Ray would kill an actor's guard with it, before the guard has cleaned up."""


START = (
    "start its head on one host, `ray start --head`, and the others with the address that it "
    "prints; one that asks for a token needs its `~/.ray/auth_token` on each host, and "
    "RAY_AUTH_MODE=token; see docs/guides/several-load-hosts.md"
)


class RefusedError(Exception):
    """Why hosts can't be had: a message, and what to try."""


class Driver:
    """Passes the lab's words on to actors, and what they answer back."""

    def __init__(self, ray: Any, actors: Sequence[Any], out: int) -> None:
        self._ray, self._actors, self._out = ray, actors, out
        self._lock = threading.Lock()
        self._lost: set[int] = set()
        self._closing = threading.Event()
        self._ordered: list[queue.SimpleQueue[Mapping[str, Any]]] = [
            queue.SimpleQueue() for _ in actors
        ]

    def tell(self, **message: object) -> None:
        """Sends a message to the lab."""
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            while line:
                line = line[os.write(self._out, line) :]

    def watch(self) -> None:
        """Begins to ask every host for output, and what its clock says."""
        for host in range(len(self._actors)):
            self._later(self._poll, host)
            self._later(self._carry_out, host)
            self.time(host)
        threading.Thread(target=self._time_all, daemon=True).start()

    def obey(self, command: Mapping[str, Any]) -> None:
        """Carries out one of the lab's commands; what comes of it is told."""
        host, number = command["host"], command["number"]
        match command["do"]:
            case "ask":
                self._later(self._ask, host, command)
            case "time":
                self._later(self._timed, host, number)
            case _:
                self._ordered[host].put(command)

    def close(self) -> None:
        """Ends all programs on all hosts, as far as they can be reached."""
        self._closing.set()
        living = [actor for host, actor in enumerate(self._actors) if host not in self._lost]
        with suppress(Exception):
            self._ray.get([actor.close.remote() for actor in living], timeout=_CLOSE_LIMIT_S)
        for actor in living:
            with suppress(Exception):
                self._ray.kill(actor)

    def time(self, host: int) -> None:
        """Tells the tightest of some round trips to a host's clock: when it was, in nanoseconds
        since 1970, how far that clock is ahead, and by how much that may be wrong."""
        best: tuple[int, int, int] | None = None
        for _ in range(_TRIPS_OF_BURST):
            before = time.time_ns()
            there = self._get(self._actors[host].clock.remote())
            after = time.time_ns()
            trip = ((after + before) // 2, there - (after + before) // 2, (after - before + 1) // 2)
            best = trip if best is None or trip[2] < best[2] else best
        self.tell(host=host, trip=best)

    def _later(self, act: Any, *words: Any) -> None:
        threading.Thread(target=self._losing, args=(act, *words), daemon=True).start()

    def _losing(self, act: Any, host: int, *words: Any) -> None:
        try:
            act(host, *words)
        except Exception as error:  # noqa: BLE001 - whatever Ray raises means the same here
            self._lose(host, error)

    def _carry_out(self, host: int) -> None:
        """What concerns a program, one by one: an actor's calls overtake one another."""
        actor = self._actors[host]
        while host not in self._lost:
            command = self._ordered[host].get()
            number = command["number"]
            match command["do"]:
                case "run":
                    if refusal := self._get(actor.run.remote(number, command["argv"])):
                        self.tell(host=host, number=number, refused=refusal)
                case "send":
                    self._get(actor.send.remote(number, command["text"], command["more"]))
                case "signal":
                    self._get(actor.signal.remote(number, command["which"]))

    def _ask(self, host: int, command: Mapping[str, Any]) -> None:
        limit_s = command["limit_s"]
        reply = self._actors[host].ask.remote(command["argv"], command["text"], limit_s)
        answer = self._get(reply, limit_s + SILENCE_S)
        self.tell(host=host, number=command["number"], answer=answer)

    def _timed(self, host: int, number: int) -> None:
        self.time(host)
        self.tell(host=host, number=number, answer=True)

    def _poll(self, host: int) -> None:
        while host not in self._lost:
            for number, text, code, error in self._get(self._actors[host].read.remote(POLL_S)):
                self.tell(host=host, number=number, text=text, code=code, error=error)

    def _time_all(self) -> None:
        while not self._closing.is_set():
            self._closing.wait(_CLOCK_EVERY_S)
            for host in range(len(self._actors)):
                if host not in self._lost:
                    with suppress(Exception):  # Whoever polls the host tells that it is lost.
                        self.time(host)

    def _get(self, reply: Any, limit_s: float = SILENCE_S) -> Any:
        return self._ray.get(reply, timeout=limit_s)

    def _lose(self, host: int, error: Exception) -> None:
        if host not in self._lost:
            self._lost.add(host)
            self.tell(host=host, lost=_why(error))
            # If it lives behind a cut link, its lease ends its programs.
            with suppress(Exception):
                self._ray.kill(self._actors[host])


def _why(error: Exception, limit_s: float = SILENCE_S) -> str:
    kind = type(error).__name__
    if kind == "GetTimeoutError":
        return f"it has not answered for {limit_s:g} s"
    if kind == "ActorDiedError":
        return "Ray says that its actor has died, or the whole host"
    if kind == "ActorUnavailableError":
        return "Ray says that its actor can't be reached"
    first = str(error).strip().splitlines()
    return f"{kind}: {first[0] if first else 'no reason given'}"


def connect(ray: Any, wanted: Mapping[str, Any]) -> tuple[list[Any], list[dict[str, Any]]]:
    """Actors on the hosts that are wanted, and their facts. Raises `RefusedError`."""
    try:
        ray.init(
            address=wanted["address"],
            runtime_env={"working_dir": wanted["shipped"], "env_vars": _ENVIRONMENT},
            log_to_driver=False,
            logging_level="ERROR",
        )
    except Exception as error:
        raise RefusedError(
            f"no Ray cluster answers at `{wanted['address']}`: {str(error).strip()}",
            START,
        ) from error
    nodes = chosen(ray.nodes(), wanted["hosts"], ray.get_runtime_context().get_node_id())
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=_CALLS_AT_A_TIME)(LoadHost)
    actors = [
        remote.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in nodes
    ]
    try:
        facts = ray.get([actor.facts.remote() for actor in actors], timeout=_CONNECT_LIMIT_S)
    except Exception as error:
        raise RefusedError(
            f"a load host does not start: {_why(error, _CONNECT_LIMIT_S)}",
            "`ray status` and the logs below /tmp/ray on that host say more",
        ) from error
    named = [
        {**fact, "name": name_of(node), "address": node["NodeManagerAddress"]}
        for fact, node in zip(facts, nodes, strict=True)
    ]
    return actors, named


def chosen(
    nodes: Sequence[Mapping[str, Any]], hosts: int | Sequence[str], own: str
) -> list[Mapping[str, Any]]:
    """The nodes to put load on: so many, the lab's own last, or those with these names, addresses
    or host names; `[]` means all. Raises `RefusedError`."""
    alive = [node for node in nodes if node["Alive"]]
    alive.sort(key=lambda node: (node["NodeID"] == own, name_of(node)))
    names = ", ".join(map(name_of, alive))
    if hosts == []:
        return alive
    if isinstance(hosts, int):
        if len(alive) < hosts:
            raise RefusedError(
                f"the study asks for {hosts} load hosts; the cluster has {len(alive)}: {names}",
                "join more: `ray start --address=HEAD:6379 --node-name=NAME` on each",
            )
        return alive[:hosts]
    chosen_nodes = []
    for host in hosts:
        keys = ("NodeName", "NodeManagerAddress", "NodeManagerHostname")
        of_name = [node for node in alive if host in map(node.get, keys)]
        if len(of_name) != 1:
            many = f"{len(of_name)} nodes of that name" if of_name else "no living node of it"
            raise RefusedError(
                f"load host `{host}`: the cluster has {many}; it has {names}",
                "names are given by `ray start --node-name=NAME`",
            )
        chosen_nodes += of_name
    return chosen_nodes


def name_of(node: Mapping[str, Any]) -> str:
    """As people know it: the name that it was started with, or its address."""
    return str(node.get("NodeName") or node["NodeManagerAddress"])


def main() -> int:
    """Serves the lab until the input ends."""
    # What Ray or its libraries print must not stand between the answers.
    out = os.dup(1)
    os.dup2(2, 1)
    wanted = json.loads(sys.stdin.buffer.readline())

    def first(message: Mapping[str, object]) -> None:
        os.write(out, json.dumps(message).encode() + b"\n")

    try:
        import ray
    except ImportError as error:
        first({"refused": f"Ray can't be imported: {error}", "hint": "pip install 'dbdyno[ray]'"})
        return 1
    try:
        actors, facts = connect(ray, wanted)
        shutil.rmtree(wanted["shipped"], ignore_errors=True)  # Ray has copied it.
    except RefusedError as refusal:
        first({"refused": refusal.args[0], "hint": refusal.args[1]})
        return 1
    first({"hosts": facts, "ray": ray.__version__})
    driver = Driver(ray, actors, out)
    driver.watch()
    for line in sys.stdin.buffer:
        driver.obey(json.loads(line))
    driver.close()
    with suppress(Exception):
        ray.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
