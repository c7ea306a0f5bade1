"""A question and how to answer it: a study file's content, checked and resolved.

Times are seconds. Mappings are read-only by convention.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbdyno.model.cell_load import is_open
from dbdyno.model.generating import ENGINE
from dbdyno.model.load import Load, Option
from dbdyno.model.plan import Order, Tables, Together

ANSWER_FIELDS = (
    "effect",
    "interval",
    "verdict",
    "candidate",
    "baseline",
    "blocks",
    "metric",
    "smallest_effect",
)
"""Placeholders of `answer`: what a report fills in, `{effect}` and so on."""


BY_URL = "url:"
"""How a provision begins that is the URL of a running server."""


@dataclass(frozen=True, slots=True)
class Level:
    """One value of a factor: what it changes in a cell. Later factors win over earlier ones."""

    name: str
    provision: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    script: str | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    host: Mapping[str, object] = field(default_factory=dict)
    """Setter → its value in the study file."""
    generator: str | None = None
    connection: Mapping[str, bool | str] = field(default_factory=dict)
    """Settings of the clients' connections; see `Cell.connection`."""
    c_functions: tuple[str, ...] = ()
    """Files in C that are compiled for the server, as the study file names them."""
    proxy: Mapping[str, object] = field(default_factory=dict)
    """The proxy in front of the server; see `Cell.proxy`."""
    topology: Mapping[str, object] = field(default_factory=dict)
    """The topology of the server; see `Cell.topology`."""
    most_clients: int | None = None
    """Steps with more clients are left out."""
    load: Mapping[str, object] = field(default_factory=dict)
    """What it changes of the study's load; see `Cell.load`."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One axis of the matrix."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """The settings for which no factor says otherwise."""

    script: str | None
    options: Mapping[str, Option] = field(default_factory=dict)
    generator: str = ENGINE
    """The load generator: the engine, or a program with its own options."""
    tables: Tables | None = None
    """`None`: the script's own `prepare` makes them."""


RECONNECT_S = 0.012
"""Seconds of lead-in for each client that reconnects, until its statements are prepared and planned
again: with less, 64 clients of `oltp_read_write` on PostgreSQL 18 were still at it when the window
began (two cores)."""

FIRST_LOOK = 5
"""Blocks before a study may stop: the spread of fewer says too little."""


@dataclass(frozen=True, slots=True)
class Design:
    """How often and against what."""

    blocks: int = 3
    baseline: Mapping[str, str] = field(default_factory=dict)
    """Factor → level the others are compared with; may name fewer factors than there are."""
    seed: int | None = None
    """Seed of order, data and clients; `None`: drawn when first measured."""
    order: Order | None = None
    """`None`: turns if cells can be up together, otherwise runs."""
    together: Together = "alike"
    """Which cells can be up together."""
    turn_s: float = 2.0
    """Measured length of a turn."""
    lead_in_s: float = 0.3
    """Discarded load at the start of each turn; see `lead_in_of`."""
    reconnect: int = 0
    """Every client reconnects in the lead-in of every Nth turn; 0: never."""
    freeze: bool = False
    """Servers are stopped while it is not their turn."""
    stop_half_width: float | None = None
    """Fraction: no further block once every interval of the primary family lies within ± this;
    `None`: all blocks are run."""
    twice: Mapping[str, str] = field(default_factory=dict)
    """Factor → level of the cell that stands twice, to check the machine by; empty: none."""
    twice_if_long: Mapping[str, str] = field(default_factory=dict)
    """The same, if the study is in turns and takes more than an hour; empty once that is decided,
    or where the file has decided it."""

    def lead_in_of(self, turn: int, clients: int) -> float:
        """Seconds of load discarded at the start of a turn, from 0, of so many clients."""
        reconnects = self.reconnect > 0 and turn > 0 and turn % self.reconnect == 0
        return self.lead_in_s + (RECONNECT_S * clients if reconnects else 0.0)


@dataclass(frozen=True, slots=True)
class Published:
    """A published figure, compared with the one measured here."""

    cell: Mapping[str, str]
    """Factor → level of the cell it is held against; may name fewer factors than there are."""
    metric: str
    value: float | None
    """A ratio where `against` is there; `None` where only a direction was told."""
    high: float | None = None
    """The other end, where the original told a range."""
    direction: Literal["", "higher", "lower"] = ""
    """Of a comparison told without a figure."""
    unit: str = ""
    """Empty: the metric's own."""
    clients: int | None = None
    """The load step; `None`: any."""
    text: str = ""
    """The original's name of the cell, such as `5.7.25, trx_commit = 1`."""
    against: Mapping[str, str] = field(default_factory=dict)
    """Factor → level: what the cell was compared with, the other factors alike."""
    source: str = ""
    """Where it was published, if not in the study's `source`."""
    why: str = ""
    """Why ours differs, if known."""


@dataclass(frozen=True, slots=True)
class Lead:
    """What a report's headline speaks of: a cell at one load, a factor by itself, or a curve."""

    cell: Mapping[str, str] = field(default_factory=dict)
    """Factor → level; a factor that isn't named has the baseline's level, or its first. Compared
    with its baseline where it has one, else told by its figure."""
    clients: int | None = None
    """The load step; `None`: the one with the most clients."""
    factor: str | None = None
    """A factor of the baseline, in place of a cell: its `level` against the baseline's, averaged
    over all else."""
    level: str | None = None
    levels: tuple[str, ...] = ()
    """Of `factor`, in place of `level`: each level's own share, as a list."""
    curve: bool = False
    """Where the cell's throughput ends as clients grow, and how busy the processors are there."""
    name: str = ""
    """The study's own words for what is told; empty: names of levels."""


@dataclass(frozen=True, slots=True)
class Primary:
    """The figure that answers the question. Others are shown, but do not decide."""

    metric: str = "throughput"
    better: Literal["higher", "lower"] = "higher"
    smallest_effect: float = 0.02
    """As a fraction: effects below it don't matter to the reader."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The machine that a scale is meant for."""

    cores: int | None = None
    """As the operating system counts them: hardware threads, where there are any."""
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    """Free space, where more is needed than options and settings tell."""
    also: str = ""
    """What nobody can look up here, for people: `a spinning disk`."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart the study asks for, beside the ones every report has."""

    kind: str
    title: str | None = None
    metrics: tuple[str, ...] = ()
    """Figures or sampled metrics it draws, for kinds that take any."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Group → levels of a factor: lines that belong together, for kinds that take groups."""
    lead: bool = False
    """Whether it is the report's first picture, in place of the usual one."""

    @property
    def name(self) -> str:
        """Kind and first metric, fit for a file: there may be several of one kind."""
        return re.sub(r"[^\w-]+", "-", "-".join((self.kind, *self.metrics[:1])))


@dataclass(frozen=True, slots=True)
class Places:
    """Where load hosts are found."""

    ray: str = "auto"
    """A Ray cluster: `auto` (the one that this machine belongs to), `ray://HOST:PORT` or
    `HOST:PORT`."""


@dataclass(frozen=True, slots=True)
class Study:
    """A question as a file, at one scale."""

    name: str
    question: str
    factors: tuple[Factor, ...]
    workload: Workload
    load: Load
    design: Design = Design()
    primary: Primary = Primary()
    charts: tuple[Chart, ...] = ()
    source: str | None = None
    answer: str | None = None
    """The study's own sentence for its answer, with placeholders."""
    leads: tuple[Lead, ...] = ()
    """What its headline speaks of, in this order; empty: the largest effect."""
    host: Mapping[str, object] = field(default_factory=dict)
    """Setter → its value in every cell."""
    connection: Mapping[str, bool | str] = field(default_factory=dict)
    """What is said of the clients' connections in every cell."""
    published: tuple[Published, ...] = ()
    author: str = ""
    """Whoever asks the question, for citations; empty: not said."""
    licence: str = ""
    """Under which its results may be used, such as `CC-BY-4.0`; empty: not said."""
    published_note: str = ""
    """What is known of why ours differ from all of these: hardware, versions, scale."""
    collect: tuple[str, ...] = ()
    """Sources that are sampled because the study asks for them, beside those that always are."""
    places: Places = Places()
    needs: Needs = Needs()
    """Of the scale in force; empty: it does not say."""
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Factor → level → dollars an hour, of what a cell with this level runs on."""
    scale: str = "paper"
    """The scale in force: `paper` is the file's own figures."""
    scales: tuple[str, ...] = ("paper",)
    """All scales the file offers."""
    text: str = ""
    """The file as it was read."""

    def before_window_s(self, turn: int, clients: int) -> float:
        """Seconds of load before a turn's window: its lead-in, and before the first, number 0, the
        warm-up, too."""
        warm_up_s = self.load.warm_up_s if turn == 0 else 0.0
        return self.design.lead_in_of(turn, clients) + warm_up_s

    def price_of(self, levels: Mapping[str, str]) -> float | None:
        """Dollars an hour of a cell: its levels' prices together; `None` where it has none."""
        prices = [by_level.get(levels.get(name, "")) for name, by_level in self.prices.items()]
        known = [price for price in prices if price is not None]
        return sum(known) if known and len(known) == len(prices) else None

    @property
    def is_open(self) -> bool:
        """Whether any event of any cell has an intended start."""
        changes = [level.load for factor in self.factors for level in factor.levels]
        return self.load.is_open or any(map(is_open, changes))

    def factor(self, name: str) -> Factor:
        """The factor of that name; `KeyError` if there is none."""
        for factor in self.factors:
            if factor.name == name:
                return factor
        raise KeyError(name)
