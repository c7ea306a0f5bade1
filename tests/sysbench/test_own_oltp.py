"""The bundled scripts under the field's names against Debian's: with one seed, the same statements.

Both are run by our engine, so what a server logs is the scripts' own doing: which statements, in
which order, with which values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from both import LOGGING, Commands, both_commands, option_names

from dbdyno.engine import find_engine

pytestmark = pytest.mark.slow

OURS = Path(__file__).parents[2] / "workloads"
THEIRS = Path("/usr/share/sysbench")

SCRIPTS = (
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
)

VARIANTS = {
    "as-is": (),
    "alone": ("--skip_trx=on", "--auto_inc=off", "--create_secondary=off"),
    "writes": (
        "--range_selects=off", "--delete_inserts=2", "--index_updates=3", "--non_index_updates=2",
    ),
    "reads": ("--point_selects=3", "--simple_ranges=2", "--sum_ranges=0", "--range_size=7"),
}  # fmt: skip
CASES = [
    pytest.param(script, options, id=f"{script}-{name}")
    for script in SCRIPTS
    for name, options in VARIANTS.items()
    if script.startswith("oltp") or not options
]

LOGGED = re.compile(
    r"^(?:.*\[\d+\] LOG:  (?:statement|execute \w+): |.*\[\d+\] (?=DETAIL:)|\S*\s*[\d:]*\s+\d+ "
    r"(?:Query|Prepare|Execute)\t)"
)
SKIPPED = re.compile(r"\t *\d+ (?:Connect|Quit)\t|^\d{6} [\d: ]+\d+ (?:Connect|Quit)\t| Close stmt")


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


def statements(text: str) -> list[str]:
    """What a server has logged, one statement a line, without white space that means nothing."""
    found: list[str] = []
    for line in text.splitlines():
        if SKIPPED.search(line):
            continue
        begun = LOGGED.match(line)
        if begun:
            found.append(line[begun.end() :])
        elif found:
            found[-1] += f" {line}"
    plain = (re.sub(r"/\*! *(.*?) *\*/", r"\1", statement) for statement in found)
    return [re.sub(r"\s*([(),])\s*", r"\1", " ".join(text.split())).strip() for text in plain]


def logged(commands: Commands, folder: Path, script: str, options: Sequence[str]) -> list[str]:
    """The statements of a script's tables, three events and clean-up."""
    before = commands.log.stat().st_size
    file = str(folder / f"{script}.lua")
    size = () if script == "bulk_insert" else ("--table_size=200",)
    tables = ("--tables=3",) if script.startswith("oltp") else ()
    common = (file, "--seed=11", *size, *tables, *options)
    for more in (("--loaders=0", "prepare"), ("--events=3", "--time=0", "run"), ("cleanup",)):
        finished = commands.ours(*common, *more)
        assert finished.code == 0, finished.output + finished.errors
    with commands.log.open(errors="replace") as log:
        log.seek(before)
        return statements(log.read())


@pytest.mark.parametrize(("script", "options"), CASES)
def test_the_server_gets_the_same_statements(
    script: str, options: tuple[str, ...], commands: Commands
) -> None:
    theirs = logged(commands, THEIRS, script, options)
    assert len(theirs) > 2
    assert logged(commands, OURS, script, options) == theirs


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "bulk_insert"])
def test_it_has_the_same_options(script: str) -> None:
    engine = str(find_engine().path)
    ours, theirs = (
        option_names(engine, "sysbench", str(folder / f"{script}.lua"), "help")
        for folder in (OURS, THEIRS)
    )
    assert ours == theirs
