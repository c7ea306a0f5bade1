"""Options for the load of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from dbdyno.cli.options import Duration, Rate
from dbdyno.errors import UsageError
from dbdyno.formats.load_schema import check_code
from dbdyno.model import (
    Arrival,
    Bind,
    Closed,
    Constant,
    ErrorAction,
    ErrorPolicy,
    ErrorRule,
    Load,
    Poisson,
    Reactor,
    Scheduling,
    Verify,
    engine_code,
)

_F = TypeVar("_F", bound=Callable[..., Any])

_DEFAULT_TIME_S = 10.0
_LEAST_S = 0.001
"""The shortest window, and the shortest interval, that the engine takes."""
_PLANNED: Mapping[str, type[Constant] | type[Poisson]] = {"constant": Constant, "poisson": Poisson}


def _rules(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[ErrorRule, ...]:
    return tuple(map(_rule, values))


def _rule(text: str) -> ErrorRule:
    codes, equals, what = text.partition("=")
    action, colon, limit = what.partition(":")
    known: tuple[ErrorAction, ...] = get_args(ErrorAction)
    if not equals or action not in known:
        raise click.BadParameter(
            f"expected CODE=ACTION[:LIMIT] with an action of {', '.join(known)}; found `{text}`"
        )
    try:
        checked = tuple(engine_code(check_code(code)) for code in codes.split(","))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    rule = ErrorRule(checked, known[known.index(action)])
    if not colon:
        return rule
    if action not in _RESTARTING or not limit.isdecimal() or int(limit) < 1:
        raise click.BadParameter(
            "only `retry` has a limit, of 1 or more, as have `restart-event` and `reconnect`; "
            f"found `{text}`"
        )
    return ErrorRule(rule.codes, rule.action, int(limit))


_RESTARTING = ("retry", "restart-event", "reconnect")
"""Actions after which an event may fail once more."""

_OPTIONS = (
    click.option("--clients", type=click.IntRange(1, 1_000_000), default=1, show_default=True),
    click.option("--warm-up", type=Duration(), default="0s", show_default=True),
    click.option(
        "--time", "time_s", type=Duration(_LEAST_S), help="Length of the window.  [default: 10s]"
    ),
    click.option("--events", type=click.IntRange(1), help="Stop after this many measured events."),
    click.option("--interval", type=Duration(_LEAST_S, 3600.0), default="1s", show_default=True),
    click.option(
        "--rate",
        type=Rate(),
        help="Events per second over all clients, begun whether or not earlier ones have ended.",
    ),
    click.option(
        "--arrival",
        type=click.Choice(list(_PLANNED)),
        help="How the events of --rate are spaced.  [default: constant]",
    ),
    click.option(
        "--think-time", type=Duration(), default="0s", help="Pause between a client's events."
    ),
    click.option(
        "--reconnect-every",
        type=click.IntRange(0),
        default=0,
        help="Reconnect a client after this many of its events.",
    ),
    click.option(
        "--reconnect-for",
        type=Duration(),
        default="60s",
        show_default=True,
        help="How long to keep reconnecting after a connection is lost.",
    ),
    click.option(
        "--on-error",
        multiple=True,
        callback=_rules,
        metavar="CODE=ACTION[:LIMIT]",
        help="SQLSTATE, its class, vendor number, `SQLITE_BUSY`, `connection` or `all`; several "
        "with commas. "
        f"Actions: {', '.join(get_args(ErrorAction))}. The first that matches decides.",
    ),
    click.option(
        "--statements",
        type=click.Choice(["prepared", "text"]),
        default="prepared",
        show_default=True,
        help="Protocol of prepared statements: `text` for poolers that cannot keep them.",
    ),
    click.option(
        "--reactor",
        type=click.Choice(get_args(Reactor)),
        default="auto",
        show_default=True,
        help="The engine's event loop.",
    ),
    click.option(
        "--scheduling",
        type=click.Choice(get_args(Scheduling)),
        default="batch",
        show_default=True,
        help="The engine as the kernel's batch threads, which wake up without interrupting the "
        "server, or as threads are by default.",
    ),
    click.option(
        "--bind",
        type=click.Choice(get_args(Bind)),
        default="auto",
        show_default=True,
        help="Whether each shard stays on one processor (`each`); `auto`: where that was measured "
        "to pay.",
    ),
    click.option(
        "--shards",
        type=click.IntRange(1, 1024),
        help="Threads of an engine process.  [default: by cores and clients]",
    ),
    click.option(
        "--loaders",
        type=click.IntRange(0, 1024),
        help="Connections that load rows in prepare; 0: the script's own only.  "
        "[default: two a core, 16 at most]",
    ),
    click.option(
        "--verify",
        type=click.Choice(get_args(Verify)),
        default="counts",
        show_default=True,
        help="After --prepare: `counts` counts the loaded rows, `checksums` digests them as well.",
    ),
    click.option(
        "--processes",
        type=click.IntRange(1, 1024),
        help="Engine processes.  [default: as few as may open all sockets]",
    ),
)


def load_options(function: _F) -> _F:
    """All of them; the verb takes them as keywords and hands them to `load_of`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def load_of(
    *,
    clients: int,
    warm_up: float,
    time_s: float | None,
    events: int | None,
    interval: float,
    rate: float | None,
    arrival: str | None,
    think_time: float,
    reconnect_every: int,
    reconnect_for: float,
    on_error: tuple[ErrorRule, ...],
    statements: str,
    reactor: Reactor,
    scheduling: Scheduling,
    bind: Bind,
    shards: int | None,
    loaders: int | None,
    verify: Verify,
    processes: int | None,
) -> Load:
    """The load; raises `UsageError` for options that contradict each other."""
    if rate is None and arrival is not None:
        raise UsageError("--arrival needs --rate", hint="such as --rate 500 --arrival poisson")
    if rate is not None and think_time:
        raise UsageError(
            "--think-time is a pause of a closed loop; with --rate the arrival says when"
        )
    if time_s is None and events is None:
        time_s = _DEFAULT_TIME_S
    planned: Arrival = Closed() if rate is None else _PLANNED[arrival or "constant"](rate)
    return Load(
        clients=(clients,),
        warm_up_s=warm_up,
        measure_s=time_s,
        events=events,
        interval_s=interval,
        think_time_s=think_time,
        arrival=planned,
        reconnect_every=reconnect_every,
        errors=ErrorPolicy(on_error, reconnect_for),
        prepared_statements=statements == "prepared",
        reactor=reactor,
        scheduling=scheduling,
        bind=bind,
        shards=shards,
        loaders=loaders,
        verify=verify,
        processes=processes,
    )
