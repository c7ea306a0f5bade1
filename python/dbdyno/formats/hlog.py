"""HdrHistogram logs, version 1.3, as the tools around HdrHistogram read them.

Both `StartTime` and `BaseTime` are written: with only one of them the Java reader guesses. Values
are nanoseconds; the maximum shown in each line is in milliseconds, as those tools expect.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from hdrh.histogram import HdrHistogram

from dbdyno.formats.histograms import decode, tag
from dbdyno.model import HistogramRecord

_NS_PER_MS = 1_000_000
_UNFIT = re.compile(r"[\s,]")


def header(start_unix_s: float) -> str:
    """The lines before the first interval."""
    date = datetime.fromtimestamp(start_unix_s, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    return (
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {start_unix_s:.3f} (seconds since epoch), {date}]\n"
        f"#[BaseTime: {start_unix_s:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )


def line(step: int, record: HistogramRecord, *, start_s: float, length_s: float) -> str:
    """One interval of one distribution; `start_s` counts from the base time."""
    histogram: HdrHistogram = decode(record)
    name = _UNFIT.sub("_", f"{step}.{tag(record)}")
    maximum_ms = histogram.get_max_value() / _NS_PER_MS
    return f"Tag={name},{start_s:.3f},{length_s:.3f},{maximum_ms:.3f},{record.hdr}\n"
