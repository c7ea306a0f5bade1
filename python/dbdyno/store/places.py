"""Names of folders and files of a store that several modules need."""

from __future__ import annotations

import re

PARTIAL = ".partial"
"""Suffix of folders and files that are not complete."""

RECOVERED = ".recovered"
"""Before `PARTIAL`: the folder in which a killed run is being recovered."""

SUMS = "SHA256SUMS"
"""Digests of every other file in a run's folder."""

SERIES, TURNS, METRICS = "series.parquet", "turns.parquet", "metrics.parquet"
"""A run's intervals, its turns, and what was sampled beside it."""

FACTS, SETTINGS = "facts.json", "settings.json"
"""Properties of machine and server, and the server's settings."""

RECORDS = "records.ndjson.zst"
"""The engine's stream as it came."""

JOURNAL, HOST_JOURNAL = "journal.log", "journal-host.log"
"""What is known of a run so far, and what was sampled of its host; only in partial folders."""

LIVE, NOTES, ANSWER = "live.log", "notes.log", "answer.json"
"""In a study's folder: the log of the last command that measured it, its notes, and the answer
after the last complete block."""

ATTEMPT = "~"
"""`<run id>~2` is the folder of a run's second attempt."""

_REPEAT = re.compile(r"(.+)\.\d+")


def folder_name(study: str, number: int) -> str:
    """Name of the folder of a study's first, second … time: `study`, `study.2`, …"""
    return study if number == 1 else f"{study}.{number}"


def base_name(folder: str) -> str:
    """The name that a study and its repeats share, of the name of a folder."""
    repeat = _REPEAT.fullmatch(folder)
    return repeat[1] if repeat else folder
