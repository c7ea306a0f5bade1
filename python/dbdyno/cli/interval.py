"""An interval of a load in a line."""

from __future__ import annotations

from dbdyno.cli.text import count, latency
from dbdyno.formats.histograms import decode, event_responses
from dbdyno.model import Interval
from dbdyno.stats.histogram import merge_histograms, percentile

_RANK = 95.0


def interval_words(interval: Interval) -> str:
    """Events, their 95th percentile, reads, writes and errors: `900 events/s, p95 4.1 ms, …`."""
    length_s = (interval.end_ns - interval.start_ns) / 1e9
    counters = interval.counters

    def rate(number: int) -> str:
        return f"{count(number / length_s if length_s > 0 else 0.0)}/s"

    words = [rate(counters.events).replace("/s", " events/s")]
    histogram = merge_histograms(map(decode, event_responses(interval.histograms)))
    if histogram.get_total_count():
        words.append(f"p95 {latency(percentile(histogram, _RANK) / 1000)}")
    words += [f"reads {rate(counters.reads)}", f"writes {rate(counters.writes)}"]
    if counters.other:
        words.append(f"other {rate(counters.other)}")
    codes = ", ".join(f"{code} × {times}" for code, times in sorted(interval.errors.items()))
    words.append(f"errors {rate(counters.errors)}{f' ({codes})' if codes else ''}")
    if counters.reconnects:
        words.append(f"reconnects {rate(counters.reconnects)}")
    if counters.redirects:
        words.append(f"redirects {rate(counters.redirects)}")
    return ", ".join(words)
