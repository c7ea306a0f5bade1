"""Any program: arguments from the study, figures by regular expressions over its output.

Its environment describes the step, as for fio's job files. It ends by itself; output about its
warm-up is ignored unless the expressions match it.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from dbdyno.errors import EngineError, UsageError
from dbdyno.generators.carried import Carried, needs_window
from dbdyno.generators.generator import (
    Generator,
    Job,
    ToolOutcome,
    call,
    clash,
    find_file,
    host_and_port,
)
from dbdyno.model import Load, Metric, Option, Sample, Volume

_OWN = ("program", "figures", "each_second")
_VARIABLES = ("CLIENTS", "RUNTIME", "RAMP", "SEED", "DIRECTORY", "DATABASE_URL")
_SPARE_S = 3600.0
_NUMBER = r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)"
_TIMES = re.compile(r"(p50|p95|p99|p99\.9|max|mean)_(us|ms|s)")
_COUNTS = ("events", "events_per_s", "statements", "errors", "window_s")
_MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}


class Command:
    """Options: `program`, `figures`, `each_second`; any other goes into the environment."""

    name: ClassVar[str] = "command"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("events_per_s", "/s", "gauge", "What `each_second` found, a line a second"),
    )
    instead: ClassVar[Mapping[str, str]] = {
        "arrival": "options = { rate = 50 }: RATE in the program's environment",
        "think_time": "options = { think_time = 5 }: THINK_TIME in the program's environment",
        "events": "options = { events = 100 }: EVENTS in the program's environment",
    }
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "transport": ("unix", "tcp"),
        "tls": (True,),
    }

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """What the program reads of its environment."""
        needs_window(self.name, load)
        carried = {"measure": "RUNTIME"}
        return {**carried, "warm_up": "RAMP"} if load.warm_up_s else carried

    def read(self, options: Mapping[str, Option]) -> None:
        """A program, and an expression with one group for each figure."""
        program = options.get("program")
        if not isinstance(program, tuple | list) or not program:
            raise ValueError('expected `program`, a list: ["./load.sh", "--fast"]')
        expressions = figures(options)
        if not {"events", "events_per_s"} & expressions.keys():
            raise ValueError("`figures` needs `events` or `events_per_s`")
        for option in options:
            if not re.fullmatch(r"[A-Za-z_]\w*", option):
                raise ValueError(f"`{option}` can't be the name of an environment's variable")
        clash(options, _VARIABLES, "what the step asks for")

    def provision(self, _: Mapping[str, Option]) -> str | None:
        """None: the program is the user's own."""
        return None

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """The program, if given by its path."""
        program = _words(options["program"])[0]
        return {program: "program"} if "/" in program else {}

    def volume(self, _: Mapping[str, Option]) -> Volume | None:
        """The program's own affair."""
        return None

    def run(self, job: Job) -> ToolOutcome:
        """Runs the program once; its window is as it reports, or as long as it ran."""
        program, *arguments = _words(job.options["program"])
        argv = [str(_found(program, job)), *arguments]
        began_ns = time.time_ns()
        output = call(
            argv,
            job,
            limit_s=job.warm_up_s + job.measure_s + _SPARE_S,
            environment={**os.environ, **environment(job)},
        )
        ended_ns = time.time_ns()
        shown = (Path(argv[0]).name, *arguments)
        return outcome(output, job.options, began_ns, ended_ns, shown)


def _words(value: Option) -> Sequence[str]:
    return [str(word) for word in value] if isinstance(value, tuple | list) else [str(value)]


def _found(program: str, job: Job) -> Path:
    if "/" in program:
        return find_file(program, job.folders, "program")
    if (path := shutil.which(program)) is None:
        raise UsageError(f"there is no program `{program}` on the path", hint="give its place")
    return Path(path)


def environment(job: Job) -> Mapping[str, str]:
    """The program's environment: the step, the server, and each option in capitals."""
    variables = {
        "CLIENTS": str(job.clients),
        "RUNTIME": f"{job.measure_s:g}",
        "RAMP": f"{job.warm_up_s:g}",
        "SEED": str(job.seed),
        "DIRECTORY": str(job.data_folder or ""),
        "DATABASE_URL": url(job.target()),
    }
    own = {name.upper(): str(value) for name, value in job.options.items() if name not in _OWN}
    return {**variables, **own}


def url(target: Mapping[str, Any]) -> str:
    """A run's target as a URL for `bench`; empty if there is nothing to connect to."""
    if "path" in target:
        return f"{target['driver']}://{target['path']}"
    if "endpoints" not in target:
        return ""
    account = quote(str(target["user"]))
    if target.get("password"):
        account += f":{quote(str(target['password']), safe='')}"
    (endpoint, *_) = target["endpoints"]
    scheme, database = target["driver"], target["database"]
    if "tcp" in endpoint:
        place = f"{endpoint['tcp']['host']}:{endpoint['tcp']['port']}/{database}"
        return f"{scheme}://{account}@{place}{_encrypted(target)}"
    if scheme == "mysql":
        return f"mysql://{account}@/{database}?socket={quote(str(endpoint['unix']))}"
    folder, port = host_and_port(endpoint)
    return f"{scheme}://{account}@/{database}?host={quote(folder)}&port={port}"


def _encrypted(target: Mapping[str, Any]) -> str:
    """Whether TLS is to be used, in the words of libpq's URLs."""
    mode = target.get("tls", {}).get("mode") if target["driver"] == "postgresql" else None
    return f"?sslmode={mode}" if mode else ""


def figures(options: Mapping[str, Option]) -> Mapping[str, re.Pattern[str]]:
    """Figure → expression whose one group is its number. Raises `ValueError`."""
    found: dict[str, re.Pattern[str]] = {}
    for text in _words(options.get("figures", [])):
        name, equals, expression = text.partition("=")
        if not equals:
            raise ValueError(f"`figures`: expected 'NAME = EXPRESSION'; found {text!r}")
        found[name.strip()] = _expression(f"figures, {name.strip()}", expression.strip())
    if "each_second" in options:
        _expression("each_second", str(options["each_second"]))
    return found


def _expression(where: str, text: str) -> re.Pattern[str]:
    """`#` stands for a number."""
    try:
        compiled = re.compile(text.replace("#", _NUMBER), re.MULTILINE)
    except re.error as error:
        raise ValueError(f"`{where}`: no regular expression: {error}") from error
    if compiled.groups != 1:
        raise ValueError(f"`{where}`: expected one # or one group, the number; found {text!r}")
    return compiled


def outcome(
    output: str,
    options: Mapping[str, Option],
    began_ns: int,
    ended_ns: int,
    command_line: tuple[str, ...],
) -> ToolOutcome:
    """Figures from the program's output, by the study's expressions; the last match counts.

    # Errors
    `EngineError` if an expression finds nothing, or no number.
    """
    found = {name: _last(name, expression, output) for name, expression in figures(options).items()}
    window_s = found.pop("window_s", (ended_ns - began_ns) / 1e9)
    rate = found.pop("events_per_s", None)
    events = round(found.pop("events")) if "events" in found else round((rate or 0.0) * window_s)
    statements, errors = (round(found.pop(name, 0.0)) for name in ("statements", "errors"))
    times = {name: match for name in found if (match := _TIMES.fullmatch(name))}
    return ToolOutcome(
        window_s=window_s,
        events=events,
        statements=statements,
        errors=errors,
        latency_us={m[1]: found[name] * _MICROSECONDS[m[2]] for name, m in times.items()},
        figures={name: value for name, value in found.items() if name not in times},
        samples=tuple(_samples(output, options, began_ns)),
        command_line=command_line,
        ended_unix_ns=ended_ns,
    )


def _last(name: str, expression: re.Pattern[str], output: str) -> float:
    matches = expression.findall(output)
    try:
        number = float(matches[-1])
    except IndexError:
        raise EngineError(
            f"no output of the program matches `{name}`: {expression.pattern}",
            hint=output[-500:] or "it printed nothing",
        ) from None
    except ValueError:
        raise EngineError(f"`{name}`: expected a number; found {matches[-1]!r}") from None
    least = 0.0 if name in _COUNTS else -math.inf
    if not (math.isfinite(number) and number >= least):
        wanted = "a number from 0" if name in _COUNTS else "a finite number"
        raise EngineError(f"`{name}`: expected {wanted}; found {matches[-1]!r}")
    return number


def _samples(output: str, options: Mapping[str, Option], began_ns: int) -> Iterator[Sample]:
    if "each_second" not in options:
        return
    lines = _expression("each_second", str(options["each_second"])).findall(output)
    for second, rate in enumerate(lines, 1):
        yield Sample(began_ns + second * 10**9, "command", "events_per_s", "", float(rate))


GENERATOR: Generator = Command()
