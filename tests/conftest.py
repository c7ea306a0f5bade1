"""What tests of several rooms share."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from driven import SERVERS, Driven, open_driven
from replayed import replaying, write_study
from traces import no_trace

HERE = Path(__file__).parent

# A shell's background job ignores SIGINT, and one under `nohup` SIGHUP; what a parent ignores its
# children do too, and a shell can't trap it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says more of the machine's other work than of the code; and the same
# code has the same answer every time.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")

ALONE = ("guard", "setters")
"""Folders of tests that kill labs and guards, or change switches of the machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks `alone` what another test at the same time could see or disturb."""
    for item in items:
        if item.path.relative_to(HERE).parts[0] in ALONE:
            item.add_marker(pytest.mark.alone)


@pytest.fixture
def clean() -> Iterator[None]:
    """The test leaves the machine as it found it."""
    with no_trace():
        yield


@pytest.fixture(autouse=True)
def drawings_follow_their_schema(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tests of reports, each distinct drawing is validated once against Vega-Lite's schema; the
    product does not, since it takes too long."""
    if request.path.parent.name == "report":
        from drawings import validated

        monkeypatch.setattr("dbdyno.report.charts.chart.vega_lite", validated)


@pytest.fixture(autouse=True)
def no_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write a report's page alone: pictures take half of a report's processor time. Tests
    marked `pictures` have them, as users do."""
    if request.node.get_closest_marker("pictures") is None:
        monkeypatch.setenv("DBDYNO_PICTURES", "no")


@pytest.fixture
def every_turn_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn is set aside for processor time that a busy machine gave to others."""
    monkeypatch.setattr("dbdyno.stats.turns.MOST_STOLEN", math.inf)
    monkeypatch.setattr("dbdyno.stats.turns.MOST_SHARED", math.inf)


@pytest.fixture
def replay_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that plays the engine, found where the real one would be; what else runs on the
    machine is looked at for a moment only."""
    return replaying(tmp_path, monkeypatch)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """A small study: two cells in one block, `delete` first; two steps each."""
    return write_study(tmp_path)


@pytest.fixture(scope="session", params=SERVERS)
def driven(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    """Each server once for all tests: starting it takes longer than what they do to it."""
    with open_driven(request.param, tmp_path_factory.mktemp("server")) as driven:
        yield driven
