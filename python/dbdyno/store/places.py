"""What the folders and files of a store are called, where more than one file of the room asks."""

from __future__ import annotations

PARTIAL = ".partial"
"""At the end of a folder's or file's name: not whole yet."""

SUMS = "SHA256SUMS"
"""Digests of every other file in a run's folder."""

ATTEMPT = "~"
"""`<run id>~2` is the folder of a run's second attempt."""
