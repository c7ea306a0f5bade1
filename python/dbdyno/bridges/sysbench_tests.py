"""What sysbench's tests of files, memory and processors print of themselves, releases 0.4 to 1.1:
which test it was, its options and its rates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.bridges.bridge import first
from dbdyno.model import Option

_PRIMES = re.compile(
    r"^(?:Prime numbers limit|Maximum prime number checked in CPU test): (\d+)", re.MULTILINE
)
_FILE_RATES = re.compile(r"^ *(read|write|fsync): +IOPS=([\d.]+)(?: ([\d.]+) MiB/s)?", re.MULTILINE)
"""Of files since 1.1, which counts no events there."""
_TESTS = (
    (re.compile(r"^Running mixed OLTP test", re.MULTILINE), "oltp"),
    (re.compile(r"^Doing read-only test|^Running.* read-only", re.MULTILINE), "oltp read-only"),
    (re.compile(rf"{_PRIMES.pattern}|^CPU speed:", re.MULTILINE), "cpu"),
    (re.compile(r"memory (?:operations )?speed test|^Total operations: ", re.MULTILINE), "memory"),
    (
        re.compile(
            r"^Doing (?:sequential|random) .+ test|^File operations:$|^ *fsync: IOPS=", re.MULTILINE
        ),
        "fileio",
    ),
)
_RATES = {
    "reads_per_s": re.compile(r"^ *reads/s: +([\d.]+)", re.MULTILINE),
    "writes_per_s": re.compile(r"^ *writes/s: +([\d.]+)", re.MULTILINE),
    "fsyncs_per_s": re.compile(r"^ *fsyncs/s: +([\d.]+)", re.MULTILINE),
}
_SIZES = {
    "read_bytes_per_s": re.compile(r"^ *read, MiB/s: +([\d.]+)", re.MULTILINE),
    "written_bytes_per_s": re.compile(r"^ *written, MiB/s: +([\d.]+)", re.MULTILINE),
}
_TRANSFERRED = re.compile(r"transferred (?:\S+ +)?\(([\d.]+) ?([KMG]?)i?[Bb]/sec\)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MIB = _UNITS["M"]
_NAMES = {
    "read": ("reads_per_s", "read_bytes_per_s"),
    "write": ("writes_per_s", "written_bytes_per_s"),
    "fsync": ("fsyncs_per_s", ""),
}
_OPTIONS = {
    "test_mode": re.compile(r"^Doing ((?:sequential|random) .+) test", re.MULTILINE),
    "files": re.compile(r"^(\d+ files, \S+) each$", re.MULTILINE),
    "block_size": re.compile(
        r"^(?: *block size: |Block size |Memory block size: )(\S+)", re.MULTILINE
    ),
    "io_mode": re.compile(r"^Using (\w+) I/O mode", re.MULTILINE),
    "open_flags": re.compile(r"^Extra file open flags: (?!0$|\(none\)$)(\S+)", re.MULTILINE),
    "read_write_ratio": re.compile(r"^Read/Write ratio for .*: ([\d.]+)", re.MULTILINE),
    "fsync_each": re.compile(
        r"^Periodic FSYNC enabled, calling fsync\(\) each (\d+)", re.MULTILINE
    ),
    "fsync_at_end": re.compile(r"^Calling fsync\(\) at the end of test, (\w+)", re.MULTILINE),
    "total_size": re.compile(r"^(?: *total size: |Memory transfer size: )(\S+)", re.MULTILINE),
    "operation": re.compile(r"^(?: *operation: |Memory operations type: )(\S+)", re.MULTILINE),
    "scope": re.compile(r"^(?: *scope: |Memory scope type: )(\S+)", re.MULTILINE),
}
READ = (
    r"\d+ files, |\S+ total file size|Block size |Using \w+ I/O mode|Extra file open flags: |"
    r"Number of (?:IO|random) requests|Read/Write ratio for |Periodic FSYNC enabled|"
    r"Calling fsync\(\) |block size: |total size: |operation: |scope: |Memory \w+ \w+: "
)
"""Lines of options that are read here, or follow from the others."""


def name_of_test(content: str) -> str:
    """Empty, if it is of SQL, threads or a mutex, whose texts do not name it."""
    return next((name for mark, name in _TESTS if mark.search(content)), "")


def options_of_test(asked: str) -> Iterator[tuple[str, Option]]:
    """What is printed between the head and the beginning of the load."""
    primes = first(_PRIMES, asked)
    if primes is not None:
        yield "prime_limit", int(primes)
    for name, pattern in _OPTIONS.items():
        matched = first(pattern, asked)
        if matched is not None:
            yield name, matched


def rates_of_test(content: str) -> Iterator[tuple[str, float]]:
    """Of files and memory."""
    for matched, factor in ((_RATES, 1), (_SIZES, _MIB)):
        for name, pattern in matched.items():
            value = first(pattern, content)
            if value is not None:
                yield name, float(value) * factor
    transferred = _TRANSFERRED.search(content)
    if transferred:
        yield "transferred_bytes_per_s", float(transferred[1]) * _UNITS[transferred[2]]
    for what, rate, size in _FILE_RATES.findall(content):
        name, in_bytes = _NAMES[what]
        yield name, float(rate)
        if in_bytes and size:
            yield in_bytes, float(size) * _MIB


def file_events_per_s(content: str) -> float | None:
    """Reads, writes and syncs together, which are its events; of a release that tells no more."""
    rates = [float(rate) for _, rate, _ in _FILE_RATES.findall(content)]
    return sum(rates) if rates else None
