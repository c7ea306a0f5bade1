"""A study without a server whose load comes from several hosts, for tests of these."""

from __future__ import annotations

from pathlib import Path

SCRIPT = """\
function prepare() end
function event() end
function cleanup() end
"""
"""It does nothing."""

_STUDY = """\
question = "What do load hosts measure?"

[server.none]
provision = "null"

[workload]
script = "work"

[load]
clients = 4
measure = "{measure}"
shards  = 1
arrival = {{ kind = "constant", rate = 400 }}
hosts   = {hosts}

[places]
ray = "{address}"

[design]
blocks = 1
"""


def write_study(study: Path, *, measure: str, hosts: object, address: str) -> Path:
    """Writes the study's file, and its script beside it; returns the file."""
    (study.parent / "work.lua").write_text(SCRIPT)
    study.write_text(_STUDY.format(measure=measure, hosts=hosts, address=address))
    return study
