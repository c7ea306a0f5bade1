"""HammerDB's log of timed TPROC-C runs, releases 3 to 5, and its time profile.

An event is a new order, the figure that its makers say to compare; a transaction is what the
server counts, another thing in every server. TPROC-H is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.bridges.bridge import Arrival, Bridge, Result, Text, absent, first, holding, whole
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric

_BANNER = re.compile(r"HammerDB CLI v(\d[\w.]*)")
_RESULT = re.compile(
    r"^.*TEST RESULT : System achieved (?:"
    r"(?P<orders>\d+) NOPM from (?P<transactions>\d+) (?P<server>.+?) TPM"
    r"|(?P<old_transactions>\d+) (?P<old_server>.+?) TPM at (?P<old_orders>\d+) NOPM)",
    re.MULTILINE,
)
_PERIOD = re.compile(r"Timing test period of (\d+) in minutes")
_RAMP_UP = re.compile(r"Beginning rampup time of (\d+) minutes")
_USERS = re.compile(r"(\d+) Active Virtual Users configured")
_FAILED = re.compile(r"\bVuser \d+:FINISHED FAILED")
_PROCEDURE_FAILED = re.compile(r"Procedure Error set RAISEERROR|\bError in Virtual User \d")
_WAREHOUSES = re.compile(r"count_ware\s*= (\d+)|Warehouses = (\d+)|count_ware from \d+ to (\d+)")
_PAUSES = re.compile(r"keyandthink(?:\s*= |\s+from \w+ to )(true|false)")
_SCALED = re.compile(r"async_scale(?:\s*= |\s+from \w+ to )(true|false)")
_PROFILE = ">>>>> PROC: "
_OLD_PROFILE = re.compile(r"^\W*PROCNAME", re.MULTILINE)
_PROCEDURE = re.compile(
    r">>>>> PROC: (\w+)\s+CALLS: (\d+)\s+MIN: [\d.]+ms\s+AVG: ([\d.]+)ms\s+MAX: ([\d.]+)ms.*?"
    r"P99: ([\d.]+)ms\s+P95: ([\d.]+)ms.*?P50: ([\d.]+)ms",
    re.DOTALL,
)
_SUMMARY = ">>>>> SUMMARY OF "
_JOB_PROCEDURE = re.compile(r'"(\w+)": \{([^{}]*"avg_ms"[^{}]*)\}')
"""As `jobs` returns them."""
_JOB_TIME = re.compile(r'"(avg|max|p99|p95|p50)_ms": "?([\d.]+)')
_SHAPE = Shape(
    mark=_RESULT,
    opening=re.compile(
        r".*(?:HammerDB CLI v|Hammerdb Log @|\d+ VU TEST|Vuser 1 created|Virtual Users Created|"
        r"Vuser 1:RUNNING|Beginning rampup time|Timing test period of|Script loaded)"
    ),
    over=_RESULT,
    begun=_PERIOD,
)
_USUAL = {
    "HammerDB CLI vVERSION": _BANNER,
    "Beginning rampup time": _RAMP_UP,
    "Active Virtual Users configured": _USERS,
    "Vuser 1:FINISHED": re.compile(r"\bVuser 1:FINISHED"),
}


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

    def parts(self, text: Text) -> Sequence[Text]:
        """The autopilot and scripts drive several numbers of users one after another, below what
        was set at the beginning."""
        matched = results_in(text, _SHAPE)
        begin = _SHAPE.opening.search(matched[0].content, 0) if len(matched) > 1 else None
        period = _PERIOD.search(matched[0].content)
        head = matched[0].content[: period.start()] if period and begin else ""
        return [matched[0], *(replace(part, head=head) for part in matched[1:])]

    def read(self, texts: Sequence[Text]) -> Result:
        """Rates of the result line; times of the profile's summary, as it tells them."""
        content = "\n".join(text.content for text in texts)
        head = texts[0].head
        both = f"{content}\n{head}"
        main = holding(texts, _RESULT, self.tool)
        if main is None:
            raise texts[0].cut(self.tool, "`TEST RESULT : System achieved … NOPM`")
        matched, minutes = _RESULT.search(main.content), whole(_PERIOD, content)
        assert matched is not None
        if minutes is None:
            raise main.cut(self.tool, "`Timing test period of … in minutes`")
        orders = int(matched["orders"] or matched["old_orders"])
        transactions = int(matched["transactions"] or matched["old_transactions"])
        if not orders:
            line = main.line_of(matched.start())
            raise main.error("HammerDB counted no new orders", line=line)
        warehouses = _WAREHOUSES.search(both)
        ramp = whole(_RAMP_UP, both)
        size = next((n for n in warehouses.groups() if n), None) if warehouses else None
        return Result(
            outcome=ToolOutcome(
                window_s=minutes * 60.0,
                events=orders * minutes,
                figures={
                    **({"transactions_per_s": transactions / 60} if transactions else {}),
                    **dict(_profile(texts)),
                },
                warnings=tuple(_warnings(content)),
                against=tuple(_against(content)),
            ),
            clients=whole(_USERS, content),
            version=first(_BANNER, both) or "",
            script="TPROC-C",
            options={
                "duration_s": minutes * 60,
                "server": matched["server"] or matched["old_server"],
                **({"warehouses": int(size)} if size else {}),
                **({"ramp_up_s": 60 * ramp} if ramp else {}),
            },
            not_known=("errors",),
            arrival=_arrival(both),
            stated_per_s=orders / 60,
            absent=absent(_USUAL, both),
            unread=("time profile of etprof",) if _OLD_PROFILE.search(content) else (),
        )


def _arrival(content: str) -> Arrival:
    """Users pause (keying and thinking time) where it was set; else they go on at once."""
    measured = [matched for pattern in (_PAUSES, _SCALED) for matched in pattern.findall(content)]
    if "true" in measured:
        return "open"
    return "closed" if _PAUSES.search(content) else "unknown"


def _warnings(content: str) -> Iterator[str]:
    failed = len(_FAILED.findall(content))
    if failed:
        yield (
            f"{failed} virtual user{'' if failed == 1 else 's'} failed before the end: fewer than "
            "configured have put load on"
        )
    errors = len(_PROCEDURE_FAILED.findall(content))
    if errors:
        yield (
            f"its log has {errors} error{'' if errors == 1 else 's'} of transactions; it counts "
            "none, and may leave some out"
        )


def _against(content: str) -> Iterator[str]:
    failed = len(_FAILED.findall(content))
    if failed:
        yield f"{failed} virtual user{'' if failed == 1 else 's'} failed before the end"


def _profile(texts: Sequence[Text]) -> Iterator[tuple[str, float]]:
    """`neword_us_p99`: of the last summary of all users."""
    for text in texts:
        for name, times in _JOB_PROCEDURE.findall(text.content):
            for what, ms in _JOB_TIME.findall(times):
                yield f"{name.lower()}_us_{'mean' if what == 'avg' else what}", float(ms) * 1000
    profiles = [text.content for text in texts if _PROFILE in text.content]
    if not profiles:
        return
    summary = profiles[-1].rpartition(_SUMMARY)[2]
    for name, _, *times in _PROCEDURE.findall(summary):
        for what, ms in zip(("mean", "max", "p99", "p95", "p50"), times, strict=True):
            yield f"{name.lower()}_us_{what}", float(ms) * 1000


BRIDGE: Bridge = HammerDb()
