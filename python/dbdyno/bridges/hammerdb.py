"""HammerDB's log of a timed TPROC-C run, releases 3 to 5, and its time profile.

An event is a new order, the figure that its makers say to compare; a transaction is what the
server counts, another thing in every server. TPROC-H is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, first, holding, whole
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric

_BANNER = re.compile(r"HammerDB CLI v(\S+)")
_RESULT = re.compile(
    r"TEST RESULT : System achieved (?:"
    r"(?P<orders>\d+) NOPM from (?P<transactions>\d+) (?P<server>.+?) TPM"
    r"|(?P<old_transactions>\d+) (?P<old_server>.+?) TPM at (?P<old_orders>\d+) NOPM)"
)
_PERIOD = re.compile(r"Timing test period of (\d+) in minutes")
_RAMP_UP = re.compile(r"Beginning rampup time of (\d+) minutes")
_USERS = re.compile(r"(\d+) Active Virtual Users configured")
_FAILED = re.compile(r"^Vuser \d+:FINISHED FAILED", re.MULTILINE)
_WAREHOUSES = re.compile(r"count_ware\s*= (\d+)|Warehouses = (\d+)")
_PROFILE = ">>>>> PROC: "
_PROCEDURE = re.compile(
    r">>>>> PROC: (\w+)\s+CALLS: (\d+)\s+MIN: [\d.]+ms\s+AVG: ([\d.]+)ms\s+MAX: ([\d.]+)ms.*?"
    r"P99: ([\d.]+)ms\s+P95: ([\d.]+)ms.*?P50: ([\d.]+)ms",
    re.DOTALL,
)
_SUMMARY = ">>>>> SUMMARY OF "


class HammerDb:
    """Reads one timed run."""

    tool: ClassVar[str] = "hammerdb"
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def recognises(self, content: str) -> bool:
        """By its result, what precedes one, or a time profile."""
        return (
            "TEST RESULT : " in content
            or bool(_BANNER.search(content) or _PERIOD.search(content) or _RAMP_UP.search(content))
            or _PROFILE in content
        )

    def read(self, texts: Sequence[Text]) -> Result:
        """Rates of the result line; times of the profile's summary, as it tells them."""
        content = "\n".join(text.content for text in texts)
        main = holding(texts, _RESULT, self.tool)
        if main is None:
            raise texts[0].cut(self.tool, "`TEST RESULT : System achieved … NOPM`")
        found, minutes = _RESULT.search(main.content), whole(_PERIOD, content)
        assert found is not None
        if minutes is None:
            raise main.cut(self.tool, "`Timing test period of … in minutes`")
        orders = int(found["orders"] or found["old_orders"])
        transactions = int(found["transactions"] or found["old_transactions"])
        if not orders:
            line = main.line_of(found.start())
            raise main.error("HammerDB counted no new orders", line=line)
        warehouses = _WAREHOUSES.search(content)
        return Result(
            outcome=ToolOutcome(
                window_s=minutes * 60.0,
                events=orders * minutes,
                figures={"transactions_per_s": transactions / 60, **dict(_profile(texts))},
                warnings=tuple(_warnings(content)),
            ),
            clients=whole(_USERS, content),
            version=first(_BANNER, content) or "",
            script="TPROC-C",
            options={
                "duration_s": minutes * 60,
                "server": found["server"] or found["old_server"],
                **({"warehouses": int(warehouses[1] or warehouses[2])} if warehouses else {}),
                **({"ramp_up_s": 60 * ramp} if (ramp := whole(_RAMP_UP, content)) else {}),
            },
            not_known=("errors",),
        )


def _warnings(content: str) -> Iterator[str]:
    failed = len(_FAILED.findall(content))
    if failed:
        yield (
            f"{failed} virtual user{'' if failed == 1 else 's'} failed before the end: fewer than "
            "configured have put load on"
        )


def _profile(texts: Sequence[Text]) -> Iterator[tuple[str, float]]:
    """`neword_us_p99`: of the last summary of all users."""
    profiles = [text.content for text in texts if _PROFILE in text.content]
    if not profiles:
        return
    summary = profiles[-1].rpartition(_SUMMARY)[2]
    for name, _, *times in _PROCEDURE.findall(summary):
        for what, ms in zip(("mean", "max", "p99", "p95", "p50"), times, strict=True):
            yield f"{name.lower()}_us_{what}", float(ms) * 1000


BRIDGE: Bridge = HammerDb()
