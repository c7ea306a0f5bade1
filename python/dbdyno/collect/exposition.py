"""Metrics that programs serve over HTTP, in the text format of Prometheus."""

from __future__ import annotations

import http.client
from collections import defaultdict
from collections.abc import Mapping

from dbdyno.errors import ServerError

_LIMIT_S = 5.0
_LONGEST_BYTES = 16_000_000


def read_metrics(address: str) -> Mapping[str, float]:
    """All values at `host:port`, by their names; those with labels twice: under name and labels as
    they are written, and under the name alone, added up.

    # Errors
    `OSError` if nobody answers within some seconds, `ServerError` if there are no metrics.
    """
    connection = http.client.HTTPConnection(address, timeout=_LIMIT_S)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read(_LONGEST_BYTES)
    except http.client.HTTPException as error:
        raise ServerError(f"{address} serves no metrics: {type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise ServerError(f"{address} serves no metrics: {answer.status} {answer.reason}")
    return parse_metrics(text.decode(errors="replace"))


def parse_metrics(text: str) -> Mapping[str, float]:
    """The same of a text; lines that are not `name value` or `name{labels} value` are left out."""
    values: defaultdict[str, float] = defaultdict(float)
    for line in text.splitlines():
        sample, _, written = line.rpartition(" ")
        if not sample or line.startswith("#"):
            continue
        try:
            value = float(written)
        except ValueError:
            continue
        name, labels, _ = sample.partition("{")
        values[name] += value
        if labels:
            values[sample] = value
    return dict(values)
