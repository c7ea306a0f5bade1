"""`check` of every bundled study by somebody who is not root and has hardly a program on the path:
what is missing is said, each thing once and with its cure."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import dbdyno
from dbdyno.conduct import bundled_studies
from dbdyno.conduct.opening import SMALL
from dbdyno.engine import find_engine
from dbdyno.engine.binary import VARIABLE
from dbdyno.formats.study import PAPER, read_study
from dbdyno.guard.account import Account

CHECKED = Path(__file__).with_name("checked.py")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
LIMIT_S = 300.0

ROOT = "run dbdyno as root"
MAVEN = (r"Maven \(`mvn`\) is needed to download \S+ and is not installed", "apt-get install maven")
SUITE = (
    r"`[\w:.@]+` is not on this machine: packages of a Debian suite need `apt-get` and `dpkg-deb`, "
    "which are not installed",
    "take a version that comes otherwise",
)
CLICKHOUSE = ("no clickhouse is installed on this machine", "apt-get install clickhouse-server")
GO = (r"Go \(`go`\) is needed to build", "install Go")
FIO = (r"`tool:fio` is not on this machine: ", "install fio, so that it is on the PATH")
DB_BENCH = (r"`tool:rocksdb-tools:[\d.]+` is not on this machine: ", "install rocksdb-tools")
PGBOUNCER = (r"`tool:pgbouncer` is not on this machine: ", "install pgbouncer")
COMPILER = ("functions in C need a compiler", "apt-get install gcc")
CERTIFICATES = ("there is no program `openssl`", "apt-get install openssl")
BINDING = ("there is no program `taskset`", "apt-get install util-linux")
GALERA = ("`galera`", "rsync lsof")
MOUNT = ("only root may mount a file system", ROOT)
NETWORK = ("only root may make network namespaces", ROOT)
REAL_TIME = ("only root may use a real-time class", ROOT)
HUGE_PAGES = (r"transparent_hugepage/enabled can't be written", ROOT)
GROUPS = ("does not let us make a control group|no control group has the memory controller", "")

LACKS: Mapping[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "audit-trigger": (6, (COMPILER,)),
    "caching-proxy": (4, (SUITE,)),
    "clickhouse-column-types": (2, (CLICKHOUSE,)),
    "cluster-comparison": (2, (GALERA,)),
    "cluster-comparison-connections": (2, (GALERA,)),
    "cluster-comparison-failover": (2, (GALERA,)),
    "custom-lua-workload": (4, (MAVEN, SUITE)),
    "durability-and-versions": (4, (MAVEN, SUITE)),
    "durability-ledger": (4, (SUITE, MOUNT)),
    "encryption-overhead": (4, (SUITE,)),
    "engines-and-cores": (4, (MAVEN, BINDING)),
    "ext4-direct-io": (4, (FIO, MOUNT)),
    "ext4-direct-io-oltp": (4, (MAVEN, MOUNT, GROUPS)),
    "failover-galera": (2, (GALERA,)),
    "failover-replicas": (4, (SUITE,)),
    "file-per-table-ddl": (4, (MAVEN,)),
    "hundred-thousand-connections": (4, (MAVEN, PGBOUNCER)),
    "hyperthreading-utilisation": (0, ()),
    "innodb-doublewrite-ext4-journal": (4, (MAVEN, MOUNT)),
    "innodb-full-text": (4, (MAVEN,)),
    "innodb-scan-regression": (4, (MAVEN, SUITE)),
    "mongodb-price-performance": (4, (GO,)),
    "mongodb-sysbench": (4, (GO,)),
    "network-bandwidth": (4, (MAVEN, NETWORK, CERTIFICATES)),
    "ontime-analytics": (2, (CLICKHOUSE,)),
    "page-checksums": (4, (MAVEN, SUITE)),
    "page-checksums-cost": (0, ()),
    "page-checksums-cost-engines": (4, (SUITE,)),
    "page-checksums-cost-innodb": (4, (SUITE,)),
    "postgresql-varchar-scheduler": (0, (REAL_TIME,)),
    "postgresql-versions": (4, (MAVEN,)),
    "quickstart": (0, ()),
    "redo-size-and-purge": (4, (MAVEN,)),
    "rocksdb-block-cache": (4, (DB_BENCH,)),
    "rocksdb-versions": (4, (DB_BENCH,)),
    "rollup-insert-engines": (4, (SUITE,)),
    "sharding-middleware": (6, (GROUPS,)),
    "transparent-hugepages": (4, (MAVEN, HUGE_PAGES)),
    "ycsb-families": (4, (SUITE,)),
}
"""Study → how its check ends, and what it is told to lack, with the cure."""


@dataclass(frozen=True, slots=True)
class Told:
    """How a check ended, and all it said."""

    code: int
    said: str

    def cures(self, what: str) -> Sequence[str]:
        """What is said to do about it: below it, or behind a colon."""
        found = re.findall(rf"(?:{what}).*(?:\n+ *hint: |: )(.*)", self.said)
        return [str(cure) for cure in found]


def unprivileged() -> Account | None:
    """`nobody`, where we are root; else ourselves."""
    if os.geteuid() != 0:
        return None
    user = pwd.getpwnam("nobody")
    return Account(user.pw_name, user.pw_uid, user.pw_gid)


def python_of_all() -> str:
    """A Python of this version that everybody can run; skips the tests where there is none."""
    found = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip("SKIPPED: no Python of this version that everybody can run")
    return found


@pytest.fixture(scope="module")
def told() -> Iterator[Mapping[str, Told]]:
    """What everybody may do and nothing else is done as `nobody`, where we are root."""
    account = unprivileged()
    python = sys.executable if account is None else python_of_all()
    packages = Path(site.getsitepackages()[0])
    library, engine = Path(dbdyno.__file__).parents[1], find_engine().path
    needed = (packages, library, engine)
    if hidden := [path for path in needed if account is not None and not account.can_reach(path)]:
        pytest.skip(f"SKIPPED: `nobody` can't read {hidden[0]}")
    studies = {name: read_study(file).study for name, file in bundled_studies().items()}
    scales = {name: SMALL if SMALL in each.scales else PAPER for name, each in studies.items()}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        home = Path(folder)
        (home / "path").mkdir()
        shutil.copy(CHECKED, home)
        if account is not None:
            for path in (home, *home.rglob("*")):
                os.chown(path, account.uid, account.gid)
        done = subprocess.run(
            [python, home / CHECKED.name, *(f"{name}@{scale}" for name, scale in scales.items())],
            cwd=home,
            env={
                "PATH": str(home / "path"),
                "HOME": folder,
                "PYTHONPATH": f"{library}:{packages}",
                "PYTHONDONTWRITEBYTECODE": "1",
                VARIABLE: str(engine),
            },
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield {name: Told(**ended) for name, ended in json.loads(done.stdout).items()}


def test_every_bundled_study_is_listed_here() -> None:
    assert set(LACKS) == set(bundled_studies())


@pytest.mark.slow
@pytest.mark.parametrize("name", LACKS)
def test_what_a_study_lacks_is_said_with_its_cure(name: str, told: Mapping[str, Told]) -> None:
    code, lacks = LACKS[name]
    for what, cure in lacks:
        cures = told[name].cures(what)
        assert cures and all(cure in each for each in cures), told[name].said
    assert told[name].code == code, told[name].said
    of_cells = re.findall(r"cell `.*?`: (.*)", told[name].said)
    assert len(of_cells) == len(set(of_cells)), "a problem of several cells is said once"


@pytest.mark.slow
def test_a_source_of_metrics_that_can_t_be_read_is_a_note(told: Mapping[str, Told]) -> None:
    if int(PARANOID.read_text()) < 2:
        pytest.skip(f"everybody may read the processor's counters here: {PARANOID}")
    note = (
        "not sampled: `hardware`, since the processor's counters may not be read\n"
        "  hint: `sysctl kernel.perf_event_paranoid=1`\n"
    )

    assert note in told["transparent-hugepages"].said
    others = [name for name, each in told.items() if "not sampled: " in each.said]
    assert others == ["transparent-hugepages"]
