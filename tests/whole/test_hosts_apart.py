"""Load hosts on links of their own: the guide from nothing, other addresses, and a link that is
cut."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hosts_apart import DATABASE, HEAD, Apart, guide_blocks, open_apart
from product import url
from ray_cluster import eventually
from study_of_hosts import write_study

from dbdyno.model.part import Missing
from dbdyno.servers import open_server
from dbdyno.setters.links import SETTER

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.nightly]

LOG = logging.getLogger(__name__)
HOSTS = ("load-1", "load-2", "load-3")
SERVER_OF_GUIDE = "url:postgresql://bench@10.0.0.9:5432/bench"

WORK = """\
question = "What do load hosts measure?"

[workload]
script = "oltp_point_select"
options = { tables = 1, table_size = 1000 }

[design]
blocks = 1

"""


def lacking() -> tuple[Missing, ...]:
    return SETTER.missing(True)


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    if missing := lacking():
        pytest.skip(f"{missing}")
    with open_apart(HOSTS) as apart:
        yield apart


def write(folder: Path, apart: Apart, measure: str, hosts: object) -> Path:
    address = f"{apart.head}:6379"
    return write_study(folder / "study.toml", measure=measure, hosts=hosts, address=address)


def left_on_hosts(apart: Apart) -> list[Path]:
    return [path for host in ("lab", *HOSTS) for path in apart.left_on(host)]


def only(folder: Path, name: str) -> Any:
    (file,) = folder.glob(f"results/study/runs/*/{name}")
    return json.loads(file.read_text())


def test_the_guide_is_followed_from_nothing(apart: Apart, tmp_path: Path) -> None:
    doctor, (toml,) = guide_blocks()[4], guide_blocks("toml")
    _, *words = doctor.replace(HEAD, apart.head).split()
    done = apart.dbdyno(*words, "--json", folder=tmp_path)
    assert done.code == 0, done.err
    seen = {host["name"]: host for host in json.loads(done.out)["hosts"]}
    assert sorted(seen) == ["lab", *HOSTS]
    assert seen["load-1"]["facts"]["ports"] > 0

    study = tmp_path / "study.toml"
    with open_server("postgresql@system", {}, tmp_path / "db", apart.launches[DATABASE]) as server:
        server.start()
        there = f"url:{url(server.entry.target())}"
        assert SERVER_OF_GUIDE in toml and 'measure = "60 s"' in toml
        text = toml.replace(SERVER_OF_GUIDE, there).replace('"60 s"', '"4 s"')
        study.write_text(WORK + text.replace("clients = 400", "clients = 40"))
        done = apart.dbdyno("run", study, "--no-pictures", folder=tmp_path)

    assert done.code in (0, 1), done.err
    (step,), (summary,) = only(tmp_path, "manifest.json")["steps"], only(tmp_path, "summary.json")
    assert [(host["name"], host["clients"]) for host in step["hosts"]] == [
        ("load-1", 20),
        ("load-2", 20),
    ]
    assert sum(host["events"] for host in step["hosts"]) == summary["events"] > 0
    assert all(host["events"] for host in step["hosts"])
    apart.cluster.wait_until_clean()


def test_hosts_are_named_by_their_addresses_too(apart: Apart, tmp_path: Path) -> None:
    hosts = json.dumps(["load-3", str(apart.launches["load-1"].address)])
    study = write(tmp_path, apart, "2 s", hosts)

    done = apart.dbdyno("run", study, "--no-pictures", folder=tmp_path)

    assert done.code in (0, 1), done.err
    (step,) = only(tmp_path, "manifest.json")["steps"]
    assert [host["name"] for host in step["hosts"]] == ["load-3", "load-1"]
    apart.cluster.wait_until_clean()


def test_a_cut_link_ends_the_run(apart: Apart, tmp_path: Path) -> None:
    """The last: Ray gives the host up, and it does not come back by itself."""
    hosts = '["load-1", "load-3"]'
    study = write(tmp_path, apart, "600 s", hosts)
    with apart.start("run", study, folder=tmp_path) as process:
        apart.cluster.wait_for_engines(2)
        apart.cut("load-3")
        began_s = time.monotonic()
        _, err = process.communicate(timeout=300)
    LOG.info("ended %.1f s after the cut", time.monotonic() - began_s)

    assert process.returncode != 0
    assert "load host load-3 was lost" in err
    assert "Traceback (most recent call last)" not in err
    manifest = only(tmp_path, "manifest.json")
    assert manifest["status"] == "failed"
    (step,) = manifest["steps"]
    assert [host["name"] for host in step["hosts"] if host["lost"]] == ["load-3"]
    assert apart.dbdyno("report", "study", folder=tmp_path).code in (0, 1)
    apart.cluster.wait_until_clean()
    with suppress(AssertionError):
        eventually(lambda: not left_on_hosts(apart))
    assert left_on_hosts(apart) == []
