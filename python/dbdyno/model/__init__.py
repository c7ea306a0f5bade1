"""The lab's terms as frozen values: no input, no output, no import from any other room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.model.cell_load import (
        GROUPS,
        arrival_values,
        group_values,
        groups_of,
        joined,
        load_of,
    )
    from dbdyno.model.charts import GROUPED, USUAL, Draws, chart_kinds, draws_what
    from dbdyno.model.engine_plan import BackOff, EnginePlan, ScriptVolume
    from dbdyno.model.expected import SQLITE_NAMES
    from dbdyno.model.figure import Counted, Figure, Sampled
    from dbdyno.model.figures import FIGURES, OF_SERIES, OVER, PER_EVENT, find_figure, label_of
    from dbdyno.model.generating import ENGINE, Abilities, abilities
    from dbdyno.model.load import (
        ALL_MEMBERS,
        MAIN,
        OWN_PACE,
        Arrival,
        Bind,
        Closed,
        Constant,
        ErrorAction,
        ErrorPolicy,
        ErrorRule,
        Group,
        Load,
        Option,
        Poisson,
        Ramp,
        Reactor,
        Replay,
        Scheduling,
        Sine,
        Steps,
        Verify,
    )
    from dbdyno.model.measurement import (
        Backlog,
        Counters,
        CpuTime,
        EngineWarning,
        Fatal,
        FatalKind,
        Hello,
        HistogramRecord,
        Interval,
        Loaded,
        Output,
        Phase,
        PhaseName,
        Progress,
        Ready,
        Record,
        Subject,
        Summary,
        TimeKind,
        Turn,
        named_shards,
    )
    from dbdyno.model.noise import KeptNoise, Workplace
    from dbdyno.model.part import OWN_HOST_PARTS, Metric, MetricKind, Missing, Reading, Sample
    from dbdyno.model.plan import (
        AGAIN,
        Cell,
        LeftOut,
        Order,
        Plan,
        PlannedRun,
        Step,
        Tables,
        Together,
    )
    from dbdyno.model.result import (
        PERCENTILES,
        Canary,
        Failure,
        Imported,
        LabCost,
        Note,
        PhaseSpan,
        RunManifest,
        RunStatus,
        ScriptFile,
        SourceFile,
        StepResult,
        StepSummary,
        TableLoad,
        TurnResult,
    )
    from dbdyno.model.search import FindMax, Miss, Probe, RateSearch
    from dbdyno.model.session import SampledSession, Session, only_row
    from dbdyno.model.study import (
        ANSWER_FIELDS,
        FIRST_LOOK,
        Chart,
        Design,
        Factor,
        Lead,
        Level,
        Needs,
        Primary,
        Published,
        Study,
        Workload,
    )
    from dbdyno.model.volume import (
        EVENTS_PER_S,
        SYSBENCH_ROW_BYTES,
        Volume,
        sysbench_rows,
        whole,
    )

__all__ = [
    "AGAIN",
    "ALL_MEMBERS",
    "ANSWER_FIELDS",
    "ENGINE",
    "EVENTS_PER_S",
    "FIGURES",
    "FIRST_LOOK",
    "GROUPED",
    "GROUPS",
    "MAIN",
    "OF_SERIES",
    "OVER",
    "OWN_HOST_PARTS",
    "OWN_PACE",
    "PERCENTILES",
    "PER_EVENT",
    "SQLITE_NAMES",
    "SYSBENCH_ROW_BYTES",
    "USUAL",
    "Abilities",
    "Arrival",
    "BackOff",
    "Backlog",
    "Bind",
    "Canary",
    "Cell",
    "Chart",
    "Closed",
    "Constant",
    "Counted",
    "Counters",
    "CpuTime",
    "Design",
    "Draws",
    "EnginePlan",
    "EngineWarning",
    "ErrorAction",
    "ErrorPolicy",
    "ErrorRule",
    "Factor",
    "Failure",
    "Fatal",
    "FatalKind",
    "Figure",
    "FindMax",
    "Group",
    "Hello",
    "HistogramRecord",
    "Imported",
    "Interval",
    "KeptNoise",
    "LabCost",
    "Lead",
    "LeftOut",
    "Level",
    "Load",
    "Loaded",
    "Metric",
    "MetricKind",
    "Miss",
    "Missing",
    "Needs",
    "Note",
    "Option",
    "Order",
    "Output",
    "Phase",
    "PhaseName",
    "PhaseSpan",
    "Plan",
    "PlannedRun",
    "Poisson",
    "Primary",
    "Probe",
    "Progress",
    "Published",
    "Ramp",
    "RateSearch",
    "Reactor",
    "Reading",
    "Ready",
    "Record",
    "Replay",
    "RunManifest",
    "RunStatus",
    "Sample",
    "Sampled",
    "SampledSession",
    "Scheduling",
    "ScriptFile",
    "ScriptVolume",
    "Session",
    "Sine",
    "SourceFile",
    "Step",
    "StepResult",
    "StepSummary",
    "Steps",
    "Study",
    "Subject",
    "Summary",
    "TableLoad",
    "Tables",
    "TimeKind",
    "Together",
    "Turn",
    "TurnResult",
    "Verify",
    "Volume",
    "Workload",
    "Workplace",
    "abilities",
    "arrival_values",
    "chart_kinds",
    "draws_what",
    "find_figure",
    "group_values",
    "groups_of",
    "joined",
    "label_of",
    "load_of",
    "named_shards",
    "only_row",
    "sysbench_rows",
    "whole",
]

_NAMES = {
    "cell_load": "GROUPS arrival_values group_values groups_of joined load_of",
    "charts": "GROUPED USUAL Draws chart_kinds draws_what",
    "engine_plan": "BackOff EnginePlan ScriptVolume",
    "expected": "SQLITE_NAMES",
    "figure": "Counted Figure Sampled",
    "figures": "FIGURES OF_SERIES OVER PER_EVENT find_figure label_of",
    "generating": "ENGINE Abilities abilities",
    "load": (
        "ALL_MEMBERS MAIN OWN_PACE Arrival Bind Closed Constant ErrorAction ErrorPolicy ErrorRule "
        "Group Load Option Poisson Ramp Reactor Replay Scheduling Sine Steps Verify"
    ),
    "measurement": (
        "Backlog Counters CpuTime EngineWarning Fatal FatalKind Hello HistogramRecord "
        "Interval Loaded Output Phase PhaseName Progress Ready Record Subject Summary "
        "TimeKind Turn named_shards"
    ),
    "noise": "KeptNoise Workplace",
    "part": "OWN_HOST_PARTS Metric MetricKind Missing Reading Sample",
    "plan": "AGAIN Cell LeftOut Order Plan PlannedRun Step Tables Together",
    "result": (
        "PERCENTILES Canary Failure Imported LabCost Note PhaseSpan RunManifest "
        "RunStatus ScriptFile SourceFile StepResult StepSummary TableLoad TurnResult"
    ),
    "search": "FindMax Miss Probe RateSearch",
    "session": "SampledSession Session only_row",
    "study": (
        "ANSWER_FIELDS FIRST_LOOK Chart Design Factor Lead Level Needs Primary Published "
        "Study Workload"
    ),
    "volume": "EVENTS_PER_S SYSBENCH_ROW_BYTES Volume sysbench_rows whole",
}
"""File → the public names in it."""

_PLACES = {name: file for file, names in _NAMES.items() for name in names.split()}

__getattr__ = on_demand(__name__, _PLACES)
