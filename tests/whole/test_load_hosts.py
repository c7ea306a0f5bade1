"""Load from two hosts of a Ray cluster on this machine; whatever dies, nothing is left."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from product import PYTHON, dbdyno, start, under_load, wait_until
from ray_cluster import LIMIT_S, RayCluster, eventually, open_ray
from study_of_hosts import write_study

from dbdyno.engine import find_engine
from dbdyno.places import Trip, clock_line, ship

pytestmark = [pytest.mark.slow, pytest.mark.alone]

LOG = logging.getLogger(__name__)
HOSTS = ("load-1", "load-2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with open_ray(HOSTS) as cluster:
        yield cluster


def write(folder: Path, cluster: RayCluster, measure: str) -> Path:
    hosts, address = json.dumps(HOSTS), cluster.address
    return write_study(folder / "hosts.toml", measure=measure, hosts=hosts, address=address)


def only(folder: Path, name: str) -> Any:
    (file,) = folder.glob(f"results/hosts/runs/*/{name}")
    return json.loads(file.read_text())


def records(file: Path) -> list[dict[str, Any]]:
    with zstandard.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def ended(process: subprocess.Popen[str], what: str) -> str:
    """What a command complains of, which ends because something was killed."""
    began_s = time.monotonic()
    _, err = process.communicate(timeout=300)
    LOG.info("ended %.1f s after the death of %s", time.monotonic() - began_s, what)
    return err


def test_two_hosts_are_one_run(cluster: RayCluster, tmp_path: Path) -> None:
    done = dbdyno("run", write(tmp_path, cluster, "4 s"), "--no-pictures", folder=tmp_path)

    assert done.code in (0, 1), done.err
    manifest, (summary,) = only(tmp_path, "manifest.json"), only(tmp_path, "summary.json")
    (step,) = manifest["steps"]
    assert manifest["status"] == "complete"
    assert [host["name"] for host in step["hosts"]] == list(HOSTS)
    assert [host["clients"] for host in step["hosts"]] == [2, 2]
    assert sum(host["events"] for host in step["hosts"]) == summary["events"]
    assert summary["events"] > 0
    assert all(0 < host["clock_uncertainty_us"] < 1e6 for host in step["hosts"])
    page = (tmp_path / "results" / "hosts" / "report.html").read_text()
    assert "Clocks of load hosts" in page
    assert "load-2" in page
    cluster.wait_until_clean()


FILLED = """\
question = "Who fills the tables?"
server.pg.provision = "postgresql@system"
design = { blocks = 1, seed = 11 }
[workload]
script = "oltp_point_select"
options = { tables = 5, table_size = 2000, auto_inc = false }
[load]
clients = 2
warm_up = "0 s"
measure = "1 s"
"""


def test_tables_are_filled_by_all_hosts_at_once(cluster: RayCluster, tmp_path: Path) -> None:
    tables = {}
    places = f'hosts = 2\n[places]\nray = "{cluster.address}"\n'
    for name, more in (("lab", ""), ("hosts", places)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "hosts.toml").write_text(FILLED + more)
        done = dbdyno("run", "hosts.toml", "--no-pictures", folder=folder)
        assert done.code in (0, 1), done.err
        tables[name] = [
            (table["table"], table["rows"], table["checksum"])
            for table in only(folder, "manifest.json")["loads"]
        ]

    assert tables["hosts"] == tables["lab"] and len(tables["lab"]) == 5
    parts = sorted(tmp_path.glob("hosts/results/hosts/runs/*/logs/prepare-part-*.ndjson.zst"))
    loaded = [[r["rows"] for r in records(part) if r["record"] == "loaded"] for part in parts]
    assert sorted(loaded) == [[2000, 2000], [2000, 2000, 2000]], "five clients have a table each"
    cluster.wait_until_clean()


def test_a_host_that_is_not_there_is_named(cluster: RayCluster, tmp_path: Path) -> None:
    study = write(tmp_path, cluster, "4 s")
    study.write_text(study.read_text().replace("load-2", "load-9"))

    done = dbdyno("run", study, folder=tmp_path)

    assert done.code == 6
    assert "load host `load-9`: the cluster has no living node of it" in done.one_error()
    assert not list(tmp_path.glob("results/hosts/runs/*"))


def test_no_cluster_says_how_to_start_it(tmp_path: Path) -> None:
    done = dbdyno("doctor", "--places", "127.0.0.1:1", folder=tmp_path)

    assert done.code == 6
    assert "no Ray cluster answers at `127.0.0.1:1`" in done.one_error()


def test_a_cluster_that_asks_for_another_token_says_so(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    done = dbdyno("doctor", "--places", cluster.address, folder=tmp_path)

    assert done.code == 6
    assert f"no Ray cluster answers at `{cluster.address}`" in done.one_error()
    assert "RAY_AUTH_MODE=token" in done.err, "Ray does not say that it was refused"


def test_hosts_are_looked_at(cluster: RayCluster, tmp_path: Path) -> None:
    *words, head = ("doctor", "--places", "HEAD:6379")  # as the guide has it
    assert head.startswith("HEAD:")
    done = dbdyno(*words, cluster.address, "--json", folder=tmp_path)

    assert done.code == 0, done.err
    hosts = json.loads(done.out)["hosts"]
    assert sorted(host["name"] for host in hosts) == list(HOSTS)
    assert all(host["facts"]["cores"] >= 1 for host in hosts)
    cluster.wait_until_clean()


def test_a_lab_that_is_no_node_of_the_cluster_reaches_it(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "ray-of-the-lab"
    monkeypatch.setenv("RAY_TMPDIR", str(own))
    study = write(tmp_path, cluster, "2 s")
    client = f"ray://127.0.0.1:{cluster.client_port}"
    study.write_text(study.read_text().replace(cluster.address, client))

    done = dbdyno("run", study, "--no-pictures", folder=tmp_path)

    assert done.code in (0, 1), done.err
    (step,) = only(tmp_path, "manifest.json")["steps"]
    assert [host["name"] for host in step["hosts"]] == list(HOSTS)
    assert all(host["events"] for host in step["hosts"])
    assert not own.exists(), "the lab has started a cluster of its own"
    cluster.wait_until_clean()


def test_a_killed_actor_ends_the_run_and_is_named(cluster: RayCluster, tmp_path: Path) -> None:
    with start("run", write(tmp_path, cluster, "600 s"), folder=tmp_path) as process:
        runs = tmp_path / "results" / "hosts" / "runs"
        wait_until("both hosts are heard", lambda: under_load(runs) == 1)
        cluster.actor("load-2").kill()
        err = ended(process, "actor")

    assert process.returncode != 0
    assert "load host load-2 was lost" in err
    manifest = only(tmp_path, "manifest.json")
    assert manifest["status"] == "failed"
    (step,) = manifest["steps"]
    assert [host["name"] for host in step["hosts"] if host["lost"]] == ["load-2"]
    assert all(host["heard_until_unix_s"] for host in step["hosts"])
    cluster.wait_until_clean()


def test_nothing_is_left_of_a_killed_lab(cluster: RayCluster, tmp_path: Path) -> None:
    with start("run", write(tmp_path, cluster, "600 s"), folder=tmp_path) as process:
        cluster.wait_for_engines(2)
        process.send_signal(signal.SIGKILL)

    began_s = time.monotonic()
    cluster.wait_until_clean()
    LOG.info("clean %.1f s after the death of the lab", time.monotonic() - began_s)


CLOCK = """
import select, sys, time, ray
from dbdyno.places.ray_driver import Driver
from dbdyno.places.ray_host import LoadHost
address, ahead_ns, gained = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
ray.init(address=address, log_to_driver=False, logging_level="ERROR")
began_ns = int(sys.argv[4])
def wall_clock():
    now_ns = time.time_ns()
    return now_ns + ahead_ns + round((now_ns - began_ns) * gained)
actor = ray.remote(num_cpus=0)(LoadHost).remote(600.0, wall_clock)
driver = Driver(ray, [actor], 1)
while not select.select([sys.stdin], [], [], 0.2)[0]:
    driver.time(0)
ray.kill(actor)
"""
"""Prints round trips to the clock of a host that is ahead and gains, until its input ends."""


def test_a_clock_that_is_ahead_and_gains_is_found(cluster: RayCluster) -> None:
    ahead_ns, gained, near_ns, began_ns = -7_000_000, 300e-6, 200_000, time.time_ns()
    words = [cluster.address, str(ahead_ns), str(gained), str(began_ns)]
    trips: list[Trip] = []
    with subprocess.Popen(
        [sys.executable, "-c", CLOCK, *words],
        env={**os.environ, "PYTHONPATH": PYTHON},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        printed = process.stdout

        def errors() -> list[float]:
            """Of the line through all trips: at the first, the last, and of what lies between."""
            line, over_ns = clock_line(trips), trips[-1].at_ns - trips[0].at_ns
            apart = [
                line.ahead(at) - (ahead_ns + gained * (at - began_ns))
                for at in (trips[0].at_ns, trips[-1].at_ns)
            ]
            return [*apart, line.gained(over_ns) - gained * over_ns]

        def is_found() -> bool:
            assert select.select([printed], [], [], LIMIT_S)[0]
            trips.append(Trip(*json.loads(printed.readline())["trip"]))
            return clock_line(trips).drift_ppm > 0 and max(map(abs, errors())) < near_ns

        eventually(is_found)
        process.stdin.close()
        printed.read()
    line = clock_line(trips)
    form = "%d trips; known to %.0f ns, off by %s"
    LOG.info(form, len(trips), line.uncertainty_ns, errors())
    assert max(map(abs, errors()[:2])) <= 1.5 * line.uncertainty_ns
    cluster.wait_until_clean()


KILL = """
import sys, ray
from dbdyno.places.ray_driver import connect
(actor,), _ = connect(ray, {"address": sys.argv[1], "shipped": sys.argv[2], "hosts": ["load-2"]})
assert ray.get(actor.run.remote(1, ["sleep", "600"])) == ""
ray.kill(actor)
"""
"""Ray ends an actor whose program runs, as it does when its own end takes too long."""


@pytest.mark.usefixtures("clean")
def test_nothing_is_left_of_an_actor_that_ray_ends(cluster: RayCluster, tmp_path: Path) -> None:
    ship(tmp_path / "shipped", find_engine().path, (), ())
    subprocess.run(
        [sys.executable, "-c", KILL, cluster.address, tmp_path / "shipped"],
        env={**os.environ, "PYTHONPATH": PYTHON},
        check=True,
    )

    cluster.wait_until_clean()


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["raylet", "head"])
def test_a_dead_host_or_head_ends_the_run(tmp_path: Path, what: str) -> None:
    with open_ray(HOSTS) as cluster:
        with start("run", write(tmp_path, cluster, "600 s"), folder=tmp_path) as process:
            cluster.wait_for_engines(2)
            (cluster.raylet("load-2") if what == "raylet" else cluster.head()).kill()
            err = ended(process, what)

        assert process.returncode != 0
        assert "was lost" in err
        assert only(tmp_path, "manifest.json")["status"] == "failed"
        cluster.wait_until_clean()
