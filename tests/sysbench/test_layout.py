"""The text of every kind of answer, sysbench's beside ours: the same but for numbers."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from both import Finished, answer

from dbdyno.engine import find_engine

pytestmark = pytest.mark.slow

NUMBER = re.compile(r"\d+(?:\.\d+)?")
BUCKET = re.compile(r" *\d+\.\d{3} \|\**  *\d+")
INTERVAL = re.compile(r"\[ \d+s \] (?!Checkpoint).*")
PARAMETERS = re.compile(r"^  --([\w-]+)(\S*) .*?(?: \[([^\[\]]*)\])?$", re.MULTILINE)

FILES = "fileio --file-num=2 --file-total-size=1M"
SAME = (
    "cpu --events=5 run",
    "cpu --events=5 --threads=2 --verbosity=4 run",
    "cpu --time=1 --threads=2 --verbosity=5 run",
    "cpu --events=5 --verbosity=2 run",
    "cpu --events=5 --verbosity=0 run",
    "cpu --events=5 --debug run",
    "cpu --events=5 --validate run",
    "cpu --events=5 --percentile=0 run",
    "cpu --events=5 --percentile=99 run",
    "cpu --events=5 --histogram run",
    "cpu --events=5 --histogram --verbosity=2 run",
    "cpu --events=5 --rand-seed=7 run",
    "cpu --events=5 --forced-shutdown=2 run",
    "cpu --time=0 --events=5 run",
    "cpu --time=2 --report-interval=1 run",
    "cpu --time=2 --report-checkpoints=1 run",
    "cpu --time=2 --rate=30 --report-interval=1 run",
    "memory --memory-total-size=1M run",
    "memory --memory-total-size=1M --memory-oper=read --memory-scope=local --threads=2 run",
    "memory --memory-total-size=1M --memory-oper=none run",
    "memory --memory-total-size=1M --memory-access-mode=rnd --verbosity=4 run",
    "memory --time=2 --report-interval=1 run",
    "threads --events=5 --verbosity=4 run",
    "mutex --mutex-locks=10 --threads=2 --verbosity=4 run",
    f"{FILES} --file-test-mode=seqwr --events=50 run",
    f"{FILES} --file-test-mode=rndrw --events=50 --verbosity=4 run",
    f"{FILES} --file-test-mode=rndrd --time=2 --report-interval=1 run",
    f"{FILES} --file-test-mode=rndwr --file-fsync-all --file-io-mode=mmap --events=50 run",
    f"{FILES} --file-test-mode=seqrewr --file-merged-requests=4 --events=50 run",
    f"{FILES} --file-test-mode=rndrd --file-extra-flags=sync,dsync --events=50 run",
    f"{FILES} prepare",
    f"{FILES} cleanup",
    "plain.lua",
    "plain.lua --events=5 --verbosity=4 run",
    "oltp_read_write nosuch_command",
    "oltp_read_write --nosuch-option=1 run",
    "oltp_read_write",
    "nosuch run",
    "nosuch.lua",
    "cpu",
    "cpu nosuch",
    "cpu prepare",
    "cpu run more",
    "cpu --nosuch=1 run",
    "cpu --threads=word run",
    "cpu --percentile=0 --histogram run",
    "cpu --percentile=101 run",
    "cpu --rand-type=nosuch run",
    "cpu --cpu-max-prime=0 run",
    "memory --memory-oper=nosuch run",
    "fileio --file-test-mode=nosuch run",
    "cpu --num-threads=2 --max-requests=3 --max-time=5 --tx-rate=90 run",
    "--version",
)


@pytest.fixture
def ours(tmp_path: Path) -> str:
    """Our command under sysbench's name."""
    program = tmp_path / "bin" / "sysbench"
    program.parent.mkdir()
    program.symlink_to(find_engine().path)
    return str(program)


def lines(text: str) -> list[str]:
    """Lines as parsers see them: which LuaJIT it is, and how many buckets and intervals there are,
    is left out. sysbench prints the line of the very last interval only now and then."""
    found: list[str] = []
    for line in text.splitlines():
        masked = re.sub(r"\(using .*LuaJIT .*\)", "(using LuaJIT)", line)
        several = (kind for kind in (BUCKET, INTERVAL) if kind.fullmatch(masked))
        if not any(found and kind.fullmatch(found[-1]) for kind in several):
            found.append(masked)
    return found


def alike(ours: str, theirs: str) -> bool:
    """The same words, and numbers that begin or end in the same column."""
    if BUCKET.fullmatch(ours) and BUCKET.fullmatch(theirs):
        return True
    if NUMBER.sub("N", ours).split() != NUMBER.sub("N", theirs).split():
        return False
    spans = [[match.span() for match in NUMBER.finditer(line)] for line in (ours, theirs)]
    if len(spans[0]) != 1:
        return True
    (mine,), (other,) = spans
    return mine[0] == other[0] or mine[1] == other[1]


@pytest.mark.parametrize("command", SAME)
def test_the_text_is_theirs_but_for_numbers(command: str, ours: str, tmp_path: Path) -> None:
    def answer_of(program: str, folder: Path) -> Finished:
        folder.mkdir()
        (folder / "plain.lua").write_text("function event() end\n")
        if command.startswith("fileio") and not command.endswith("prepare"):
            answer(program, *FILES.split(), "prepare", folder=folder)
        return answer(program, *command.split(), folder=folder)

    with ThreadPoolExecutor() as both:
        theirs, mine = both.map(
            answer_of, ("sysbench", ours), (tmp_path / "theirs", tmp_path / "ours")
        )

    assert mine.code == theirs.code, mine.output + mine.errors
    said, expected = lines(mine.output), lines(theirs.output)
    if "--verbosity=5" in command:  # Threads write, and which of them is first is chance.
        said, expected = sorted(said), sorted(expected)
    assert len(said) == len(expected), mine.output
    for line, other in zip(said, expected, strict=True):
        assert alike(line, other), f"{line!r} beside {other!r}"
    # Ours may say more, like the commands that there are.
    assert NUMBER.sub("N", mine.errors).startswith(NUMBER.sub("N", theirs.errors))


def test_an_endless_load_is_warned_of(ours: str, tmp_path: Path) -> None:
    heads = []
    for program in ("sysbench", ours):
        command = [program, "cpu", "--time=0", "run"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as load:
            assert load.stdout is not None
            heads.append([load.stdout.readline() for _ in range(5)])
            load.kill()

    assert heads[0][0].startswith("WARNING: ")
    assert heads[1][0] == heads[0][0]
    assert heads[1][2:] == heads[0][2:]


BETTER = {
    "file-block-size": ("=SIZE", "16384"),
    "mysql-socket": ("=[LIST,...]", ""),
    "mysql-ssl": ("=STRING", "off"),
    "percentile": ("=STRING", "95"),
    "pgsql-host": ("=[LIST,...]", "localhost"),
    "pgsql-port": ("=[LIST,...]", "5432"),
}
"""Options that take more than sysbench's."""
HELPS = (
    "--help",
    *(f"{test} help" for test in ("fileio", "cpu", "memory", "threads", "mutex")),
    "oltp_read_write help",
    "oltp_insert help",
    "select_random_points help",
    "select_random_ranges help",
)


@pytest.mark.parametrize("command", HELPS)
def test_help_lists_their_options_with_types_and_defaults(
    command: str, ours: str, tmp_path: Path
) -> None:
    theirs, mine = (
        answer(program, *command.split(), folder=tmp_path) for program in ("sysbench", ours)
    )

    found = {name: tuple(rest) for name, *rest in PARAMETERS.findall(mine.output)}
    assert mine.code == theirs.code == 0
    assert PARAMETERS.findall(theirs.output)
    for name, *rest in PARAMETERS.findall(theirs.output):
        assert found.get(name) == BETTER.get(name, tuple(rest)), name


@pytest.mark.parametrize("layout", ["1.0", "1.1"])
def test_files_have_a_block_of_their_own_in_each_layout(
    layout: str, ours: str, tmp_path: Path
) -> None:
    answer(ours, *FILES.split(), "prepare", folder=tmp_path)
    load = ["--file-test-mode=rndrw", "--events=30", f"--compat={layout}", "run"]
    text = answer(ours, *FILES.split(), *load, folder=tmp_path).output

    new = layout == "1.1"
    assert (re.search(r"^         read:  IOPS=\d", text, re.MULTILINE) is not None) == new
    assert ("Threads fairness:" in text) != new
    assert ("General statistics:" in text) != new
    assert re.search(rf"^         min: {{{28 if new else 30}}} {{6}}\d", text, re.MULTILINE)
