"""Load hosts that are network namespaces of this machine, each with one link to a bridge and a home
of its own; the cluster is made by the commands of the guide, as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from product import LIMIT_S, PYTHON, Told
from ray_cluster import RayCluster, eventually, is_up

from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.setters.links import SETTER, ends_of
from dbdyno.setters.setter import Scene

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "several-load-hosts.md"
LAB, DATABASE = "lab", "db"
HEAD = "HEAD"
"""What the guide calls the head's address."""


def guide_blocks(language: str = "") -> Sequence[str]:
    """What the guide has between fences, in order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return [text for named, text in fences if named == language]


@dataclass(frozen=True, slots=True)
class Apart:
    """The lab, load hosts and a place for a server, each in a namespace."""

    guard: Guarded
    folder: Path
    launches: Mapping[str, Launch]
    pids: dict[str, int]
    """Of what has started Ray on a host."""

    @property
    def head(self) -> str:
        """The lab's address."""
        return str(self.launches[LAB].address)

    @property
    def cluster(self) -> RayCluster:
        """What runs on it."""
        return RayCluster(f"{self.head}:6379", self.folder, self.pids)

    def environment(self, host: str) -> Mapping[str, str]:
        """Of everything on a host."""
        home = str(self.folder / host)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"HOME": home, "TMPDIR": home, "PATH": path, "PYTHONPATH": PYTHON}
        return {**kept, **own, "RAY_AUTH_MODE": "token"}

    def command(self, host: str, words: str) -> None:
        """Carries out a command of the guide on a host, to its end."""
        (self.folder / host).mkdir(exist_ok=True)
        subprocess.run(
            [*self.launches[host].prefix(), "sh", "-e", "-c", words],
            env=self.environment(host),
            cwd=self.folder / host,
            check=True,
        )

    def ray(self, host: str, words: str) -> None:
        """The same of one that leaves Ray running; it ends with the guard."""
        log = self.folder / f"{host}.log"
        self.pids[host] = self.guard.spawn(
            ["sh", "-c", f"{words.strip()} && exec sleep infinity"],
            output=log,
            cwd=self.folder / host,
            env=self.environment(host),
            launch=self.launches[host],
            kept=True,
        )
        eventually(lambda: is_up(log))

    def start(self, *arguments: str | Path, folder: Path) -> subprocess.Popen[str]:
        """Begins a command of dbdyno on the lab's host."""
        words = [sys.executable, "-m", "dbdyno", *map(str, arguments)]
        return subprocess.Popen(
            [*self.launches[LAB].prefix(), *words],
            cwd=folder,
            env=self.environment(LAB),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dbdyno(self, *arguments: str | Path, folder: Path) -> Told:
        """Runs one to its end."""
        with self.start(*arguments, folder=folder) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        return Told(process.returncode, out, err)

    def cut(self, host: str) -> None:
        """Takes a host's link away, without a word to either end."""
        ends = ends_of(self.launches[host])
        assert ends is not None
        hub, port = ends.hub
        self.guard.run(["nsenter", f"--net={hub}", "ip", "link", "set", port, "down"])

    def left_on(self, host: str) -> Sequence[Path]:
        """Temporary folders of ours."""
        return list((self.folder / host).glob("dbdyno-*"))


@contextmanager
def open_apart(hosts: Sequence[str]) -> Iterator[Apart]:
    """The lab, load hosts of these names, and a place for a server; Ray runs on all but that."""
    install, token, head, join, *_ = guide_blocks()
    assert install == "pip install 'dbdyno[ray]'\n", "what the tests' own Python has"
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    try:
        with Guarded() as guard:
            names = (LAB, *hosts, DATABASE)
            launches = SETTER.apply(True, guard, Scene(folder, server_account(), names)).members
            for launch in launches.values():
                inside = ["nsenter", f"--net={launch.network}"]
                guard.run([*inside, "ip", "route", "add", "default", "dev", "server"])
            apart = Apart(guard, folder, launches, {})
            apart.command(LAB, token)
            apart.ray(LAB, head)
            for host in hosts:
                shutil.copytree(folder / LAB / ".ray", folder / host / ".ray")
                apart.ray(host, join.replace(HEAD, apart.head).replace("load-1", host))
            yield apart
    finally:
        shutil.rmtree(folder, ignore_errors=True)
