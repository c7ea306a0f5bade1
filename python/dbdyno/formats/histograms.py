"""HdrHistograms as the engine sends them. Merging and reading them is the business of `stats`."""

from __future__ import annotations

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
    found = histogram.get_total_count()
    if found != record.count:
        raise EngineError(
            f"histogram `{name}` holds {found} values; its record says {record.count}"
        )
    return histogram


def tag(record: HistogramRecord) -> str:
    """`<subject>.<label>.<time>`: what the distribution is called in logs and tables."""
    return f"{record.subject}.{record.label}.{record.time}"
