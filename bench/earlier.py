"""The engine of an earlier revision, built beside today's: what the same machine, in the same run,
says of before and after."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.child import run_child
from bench.options import ROOT, Options
from bench.place import Place, Where
from dbdyno.engine import Engine
from dbdyno.errors import MachineError


def beside_earlier(where: Where) -> Where:
    """The same place, with the engine of the revision `BENCH_BEFORE` too.

    Both programs are copies made now: how much of a program counts as its memory depends on how
    its file came into the page cache, by 1 MB.
    """

    @contextmanager
    def both(engine: Engine, options: Options) -> Iterator[Place]:
        program = built(options.before)
        with (
            tempfile.TemporaryDirectory(dir=ROOT / "target") as folder,
            where(engine, options) as place,
        ):
            now, then = Path(folder, "now"), Path(folder, "before")
            shutil.copy(engine.path, now)
            shutil.copy(program, then)
            yield replace(place, engine=replace(engine, path=now), earlier=then)

    return both


def built(revision: str) -> Path:
    """The engine's program as of a revision; kept in `target/earlier`, by the commit's name.

    # Errors
    `MachineError` where the revision isn't in this repository, or can't be built.
    """
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()
    kept = ROOT / "target" / "earlier" / commit
    program = kept / "release" / "dbdyno-engine"
    if not program.exists():
        with tempfile.TemporaryDirectory() as folder:
            _git("worktree", "add", "--detach", folder, commit)
            try:
                _build(Path(folder), kept)
            finally:
                _git("worktree", "remove", "--force", folder)
    return program


def schema_of(program: Path) -> int:
    """Of the run specs that it reads."""
    return int(json.loads(run_child([program, "version"]).output)["schema"])


def _build(source: Path, target: Path) -> None:
    call = ["cargo", "build", "--release", "--locked", "--package", "dbdyno-engine"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(call, cwd=source, env=environment, check=False)
    if done.returncode:
        raise MachineError(
            f"the engine of {source.name} can't be built", hint="what cargo said stands above"
        )


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MachineError(
            f"git {' '.join(arguments)}: {done.stderr.strip()}",
            hint="BENCH_BEFORE names a revision of this repository; a shallow clone has not all",
        )
    return done.stdout
