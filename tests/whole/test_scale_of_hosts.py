"""A million clients over four load hosts."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from product import dbdyno
from ray_cluster import open_ray
from study_of_hosts import write_study

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.nightly]

LOG = logging.getLogger(__name__)
HOSTS = ("load-1", "load-2", "load-3", "load-4")
CLIENTS = 1_000_000


def test_a_million_clients_over_four_hosts(tmp_path: Path) -> None:
    with open_ray(HOSTS) as cluster:
        study = tmp_path / "hosts.toml"
        write_study(study, measure="20 s", hosts=json.dumps(HOSTS), address=cluster.address)
        load = study.read_text().replace("clients = 4", f"clients = {CLIENTS}")
        study.write_text(load.replace("rate = 400", "rate = 20_000"))

        done = dbdyno("run", study, "--no-pictures", folder=tmp_path)
        assert done.code in (0, 1), done.err
        cluster.wait_until_clean()

    (file,) = tmp_path.glob("results/hosts/runs/*/summary.json")
    (summary,) = json.loads(file.read_text())
    manifest = json.loads(file.with_name("manifest.json").read_text())
    (step,) = manifest["steps"]
    LOG.info("%s, %s", step["hosts"], summary)
    assert manifest["status"] == "complete"
    assert [host["clients"] for host in step["hosts"]] == [CLIENTS // 4] * 4
    assert all(host["events"] for host in step["hosts"])
    assert sum(host["events"] for host in step["hosts"]) == summary["events"]
