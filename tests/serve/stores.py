"""Stores as studies leave them, without measuring anything."""

from __future__ import annotations

import json
from pathlib import Path

from dbdyno.store.journal import dump_entry

DECLARED = {
    "schema": 2,
    "plan": {
        "study": "example",
        "scale": "small",
        "runs": [
            {"id": f"b{block}-{cell}", "block": block, "steps": [{"index": 0, "clients": 4}]}
            for block in (1, 2)
            for cell in ("delete", "wal")
        ],
    },
    "study": {"question": "What does <b>it</b> cost?", "primary": {"metric": "throughput"}},
}


def write_study(store: Path, name: str, *, runs: int = 4, answer: str = "It is faster.") -> Path:
    """A study with so many complete runs."""
    folder = store / name
    (folder / "runs").mkdir(parents=True)
    (folder / "study.json").write_text(json.dumps(DECLARED))
    for run in DECLARED["plan"]["runs"][:runs]:  # type: ignore[index]
        place = folder / "runs" / run["id"]
        place.mkdir()
        manifest = {"id": run["id"], "status": "complete"}
        (place / "manifest.json").write_text(json.dumps(manifest))
        summary = [{"step": 0, "clients": 4, "events_per_s": 9.5, "latency_us": {"p95": 7.0}}]
        (place / "summary.json").write_text(json.dumps(summary))
    effect = {"cell": "wal", "clients": 4, "ratio": 2.0, "low": 1.5, "high": 2.5, "text": "+100 %"}
    document = {"text": answer, "blocks": 2, "blocks_done": 2, "effects": [effect], "final": True}
    (folder / "answer.json").write_text(json.dumps(document))
    return folder


def write_live(folder: Path, *entries: dict[str, object]) -> None:
    """A live log with these entries."""
    lines = (dump_entry({**entry, "at": 5.0}) for entry in entries)
    (folder / "live.log").write_bytes(b"".join(lines))
