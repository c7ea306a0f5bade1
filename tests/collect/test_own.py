"""Collectors in files of the user's own: what they may be, and what is told when they are not."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from dbdyno.collect import Sampler, Watched, read_own
from dbdyno.collect.own import OwnCollector
from dbdyno.conduct.sampled import Stopwatch
from dbdyno.errors import UsageError

PYTHON = (Path(__file__).parent / "run_queue.py").read_text()


def own(folder: Path, name: str, text: str, *, mode: int = 0o755) -> OwnCollector:
    file = folder / name
    file.write_text(text)
    file.chmod(mode)
    return read_own(name, file)


def sampled(one: OwnCollector, watched: Watched | None = None) -> Sampler:
    with Sampler([one.collector], watched or Watched()) as sampler:
        sampler.edge()
        sampler.edge()
    return sampler


def test_a_file_in_python_is_sampled_like_any_other(tmp_path: Path) -> None:
    sampler = sampled(own(tmp_path, "run_queue.py", PYTHON, mode=0o644))

    values = {(one.source, one.metric): one.value for one in sampler.samples()}
    assert values[("run_queue", "runnable")] >= 1
    assert sampler.metrics()["run_queue"][0].text == "Threads that run or could"


def test_a_program_prints_names_and_values(tmp_path: Path) -> None:
    one = own(
        tmp_path,
        "waiting",
        "#!/bin/sh\n"
        "echo '# for people'\n"
        "echo 'waiting{disk0} 3 requests'\n"
        "echo 'done_total 1e3'\n"
        'echo "server_pids $(echo $DBDYNO_SERVER_PIDS | wc -w)"\n',
    )

    sampler = sampled(one, Watched(kind="mysql", server_pids=lambda: (11, 12)))

    latest = {(each.metric, each.instance): each.value for each in sampler.samples()}
    assert latest == {("waiting", "disk0"): 3, ("done_total", ""): 1000, ("server_pids", ""): 2}
    kinds = {metric.name: (metric.kind, metric.unit) for metric in one.collector.metrics}
    assert kinds["done_total"] == ("counter", "")
    assert kinds["waiting"] == ("gauge", "requests")


def test_a_program_gets_the_address_of_the_server(tmp_path: Path) -> None:
    program = own(
        tmp_path,
        "address",
        "#!/bin/sh\n"
        '[ "$DBDYNO_SERVER_URL" = "postgresql://me@/db?host=/run&port=5" ]\n'
        'echo "known $((1 - $?))"\n',
    )
    url = "postgresql://me@/db?host=/run&port=5"

    sampler = sampled(program, Watched(kind="postgresql", url=url))

    assert [each.value for each in sampler.samples()][-1] == 1


def test_what_a_program_takes_is_in_the_account_of_the_lab(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    one = own(tmp_path, "busy", f"#!/bin/sh\n{sys.executable} -c '{busy}'\necho 'done 1'\n")
    stopwatch = Stopwatch()

    with Sampler([one.collector], Watched()) as sampler:
        wait_until_sampled(sampler)
        with stopwatch.counted((sampler,)):
            before_s = sampler.programs_cpu_s()
            while sampler.programs_cpu_s() == before_s:
                sampler.edge()

    count = sampler.costs()["busy"].samples
    assert sampler.costs()["busy"].cpu_s >= 0.2 * count
    assert stopwatch.cost().cpu_s >= 0.2


def wait_until_sampled(sampler: Sampler) -> None:
    while not sampler.samples():
        sampler.edge()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("two words.py", PYTHON, "small letters, digits and `_`, found `two words`"),
        ("wrong.py", "x = (\n", r"wrong\.py:1: '\(' was never closed"),
        ("wrong.py", "import os\n\n1 / 0\n", r"wrong\.py:3: ZeroDivisionError: division by zero"),
        ("wrong.py", "COLLECTOR = 5\n", "holds no collector; expected `COLLECTOR = Collector"),
        ("wrong.py", PYTHON, "called `run_queue`; expected `wrong`"),
        ("wrong", "#!/bin/sh\nexit 3\n", "wrong: ended with 3"),
        ("wrong", "#!/bin/sh\necho no >&2; exit 3\n", "ended with 3: no"),
        ("wrong", "#!/bin/sh\ntrue\n", "printed nothing; expected `name value`"),
        ("wrong", "#!/bin/sh\necho a 1; echo b nan\n", "line 2 of what it prints: .*`b nan`"),
        ("wrong", "#!/bin/sh\necho Hello\n", "line 1 of what it prints: .*`Hello`"),
        ("wrong", "#!/no/such/shell\n", "No such file|ended with 127"),
    ],
)
def test_what_is_wrong_is_told_with_its_file_and_line(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        own(tmp_path, name, text)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("quits.py", "import sys\nsys.exit(3)\n", r"quits\.py:2: SystemExit: 3"),
        ("stays.py", "while True:\n    pass\n", r"stays\.py:[12]: TimeoutError: .* more than 1 s"),
        ("floods", "#!/bin/sh\nyes 'a 1'\n", "floods: prints more than 256 KiB"),
        ("waits", "#!/bin/sh\nsleep 600\n", "waits: did not end within 1 s"),
        ("hides", "#!/bin/sh\necho a 1\nsleep 601 &\n", "hides: did not end within 1 s"),
    ],
)
def test_what_does_not_end_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str
) -> None:
    monkeypatch.setattr("dbdyno.collect.own._LIMIT_S", 1.0)
    with pytest.raises(UsageError, match=told):
        own(tmp_path, name, text)
    # Asked for by name, a process that ends while it is looked at is left out.
    every = [process.info for process in psutil.process_iter(["cmdline", "status"])]
    lines = [
        " ".join(info["cmdline"] or ()) for info in every if info["status"] != psutil.STATUS_ZOMBIE
    ]
    assert not {"yes a 1", "sleep 600", "sleep 601"} & set(lines)


def test_a_file_that_nobody_may_run_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a file in Python"):
        own(tmp_path, "notes", "waiting 3\n", mode=0o644)


def test_what_goes_wrong_later_is_a_gap_with_its_line(tmp_path: Path) -> None:
    text = PYTHON.replace('yield Reading("runnable"', 'yield Reading("runable"')
    sampler = sampled(own(tmp_path, "run_queue.py", text))
    assert not sampler.samples()
    assert "reads `runable`, which its metrics lack" in str(sampler.costs()["run_queue"].failure)

    text = PYTHON.replace("running, _", "raise KeyError('x')\n        running, _")
    sampler = sampled(own(tmp_path, "run_queue.py", text))
    assert "run_queue.py:14: KeyError: 'x'" in str(sampler.costs()["run_queue"].failure)
