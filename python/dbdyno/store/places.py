"""Names of folders and files of a store that several modules need."""

from __future__ import annotations

PARTIAL = ".partial"
"""Suffix of folders and files that are not complete."""

SUMS = "SHA256SUMS"
"""Digests of every other file in a run's folder."""

SERIES, TURNS, METRICS = "series.parquet", "turns.parquet", "metrics.parquet"
"""A run's intervals, its turns, and what was sampled beside it."""

ATTEMPT = "~"
"""`<run id>~2` is the folder of a run's second attempt."""
