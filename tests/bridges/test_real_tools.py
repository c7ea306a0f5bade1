"""Outputs of the tools themselves, made here and imported."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.bridges.keep import keep
from dbdyno.bridges.sources import read_sources
from dbdyno.cli import call
from dbdyno.generators import pgbench, sysbench
from dbdyno.servers import open_server, open_tool
from dbdyno.store import Store


def run(folder: Path, out: str, argv: list[object], environment: Mapping[str, str]) -> str:
    """What a tool prints on both its outputs, in a file."""
    with (folder / out).open("w") as file:
        subprocess.run(
            list(map(str, argv)),
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            cwd=folder,
            check=True,
        )
    return str(folder / out)


@pytest.mark.slow
def test_pgbench_and_sysbench_on_a_real_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_server("postgresql@system", {}, tmp_path / "run") as server:
        server.start()
        environment = dict(pgbench.connection(server.entry.target()))
        bench = open_tool("tool:pgbench").path
        run(tmp_path, "made", [bench, "-i", "-q"], environment)
        select = [bench, "-n", "-S", "-c", 2, "-T", 2, "-P", 1, "-l"]
        text = run(tmp_path, "select.txt", select, environment)
        place = sysbench.connection(server.entry.target())
        script = [open_tool("tool:sysbench").path, *place, "oltp_point_select", "--threads=2"]
        run(tmp_path, "prepared", [*script, "--table-size=100", "prepare"], {})
        asked = [*script, "--table-size=100", "--time=2", "--histogram=on", "run"]
        points = run(tmp_path, "points.txt", [*asked], {})

    (log,) = tmp_path.glob("pgbench_log.*")
    named = [f"select={text}+{log}", f"points={points}"]
    kept = keep(Store(tmp_path / "store"), "real", read_sources(named, tool=None, clients=None), "")
    runs = Store(tmp_path / "store").study(kept.study).survey(whole=True).runs
    (select_,), (points_,) = runs["b1-select"].summaries, runs["b1-points"].summaries
    assert select_.events == len(log.read_text().splitlines())
    assert (
        f"number of transactions actually processed: {select_.events}\n" in Path(text).read_text()
    )
    for matched in (select_, points_):
        assert matched.clients == 2
        assert 0 < matched.latency_us["p50"] <= matched.latency_us["p99"]
        histograms: Any = matched.record["histograms"]
        assert [histogram["count"] for histogram in histograms] == [matched.events]
    asked_for = ["export", "real", "--store", str(tmp_path / "store"), "--format", "hlog"]
    assert call([*asked_for, "--out", str(tmp_path / "logs")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
