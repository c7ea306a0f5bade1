"""HdrHistograms as the engine sends and the store keeps them. Merging and reading them is up to
`stats`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from dbdyno.errors import EngineError
from dbdyno.model import HistogramRecord

_DAMAGE = (
    ValueError,
    HdrCookieException,
    HdrLengthException,
    HdrHistogramSettingsException,
    IndexError,
    OSError,
)


def decode(record: HistogramRecord) -> HdrHistogram:
    """The distribution in a record. Raises `EngineError` if it is damaged or miscounted."""
    name = tag(record)
    try:
        histogram = HdrHistogram.decode(record.hdr.encode("ascii"))
    except _DAMAGE as error:
        raise EngineError(f"histogram `{name}` can't be decoded: {error}") from error
    total = histogram.get_total_count()
    if total != record.count:
        raise EngineError(
            f"histogram `{name}` holds {total} values; its record says {record.count}"
        )
    return histogram


def encode(histogram: HdrHistogram, like: HistogramRecord, *, out_of_range: int) -> HistogramRecord:
    """A record of a distribution, named like another record."""
    return replace(
        like,
        count=histogram.get_total_count(),
        out_of_range=out_of_range,
        hdr=histogram.encode().decode("ascii"),
    )


def event_responses(records: Iterable[HistogramRecord]) -> list[HistogramRecord]:
    """Response times of events, one distribution per label.

    In a closed loop response equals service, and only service is recorded.
    """
    times = {(record.label, record.time): record for record in records if record.subject == "event"}
    labels = sorted({label for label, _ in times})
    return [times.get((label, "response")) or times[label, "service"] for label in labels]


def tag(record: HistogramRecord) -> str:
    """`<subject>.<label>.<time>`: what the distribution is called in logs and tables."""
    return f"{record.subject}.{record.label}.{record.time}"
