"""Names of folders and files of a store that several modules need."""

from __future__ import annotations

PARTIAL = ".partial"
"""Suffix of folders and files that are not complete."""

RECOVERED = ".recovered"
"""Before `PARTIAL`: a run whose lab was killed, while it is made of what that has left."""

SUMS = "SHA256SUMS"
"""Digests of every other file in a run's folder."""

SERIES, TURNS, METRICS = "series.parquet", "turns.parquet", "metrics.parquet"
"""A run's intervals, its turns, and what was sampled beside it."""

FACTS, SETTINGS = "facts.json", "settings.json"
"""What machine and server said of themselves."""

RECORDS = "records.ndjson.zst"
"""The engine's stream as it came."""

JOURNAL, HOST_JOURNAL = "journal.log", "journal-host.log"
"""What a run knows while it lasts, and what was sampled of the host beside it; only in folders that
are not complete."""

LIVE, NOTES, ANSWER = "live.log", "notes.log", "answer.json"
"""In a study's folder: what the last command said as it went, marks of people, and the answer after
the last complete block."""

ATTEMPT = "~"
"""`<run id>~2` is the folder of a run's second attempt."""
