"""fio as a generator: the real program, its figures under our names, its failures told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.errors import ScriptError, UsageError
from dbdyno.generators.fio import GENERATOR, rates_by_second
from dbdyno.generators.generator import Job
from dbdyno.generators.registry import find_generator, generators
from dbdyno.model import Option

JOB = """\
[global]
directory=${DIRECTORY}
size=${DATA_SIZE}
time_based=1
runtime=${RUNTIME}
log_avg_msec=500
write_iops_log=${LOG}

[readers]
rw=randread
ioengine=psync
numjobs=${CLIENTS}

[writer]
new_group=1
rw=randwrite
ioengine=psync
"""


def job(folder: Path, text: str = JOB, **options: Option) -> Job:
    (folder / "mix.fio").write_text(text)
    data, scratch = folder / "data", folder / "scratch"
    data.mkdir()
    scratch.mkdir()
    return replace(
        STEP,
        program=Path("/usr/bin/fio"),
        options={"jobfile": "mix.fio", "data_size": "4m", **options},
        data_folder=data,
        scratch=scratch,
        folders=(folder,),
    )


def test_it_is_found_by_its_name() -> None:
    assert find_generator("fio") is generators()["fio"]
    with pytest.raises(UsageError, match="did you mean `fio`"):
        find_generator("foi")


def test_options_without_a_job_file_are_refused() -> None:
    with pytest.raises(ValueError, match="jobfile"):
        GENERATOR.read({"size": "1m"})


@pytest.mark.slow
def test_its_figures_are_those_of_its_jobs(tmp_path: Path) -> None:
    told = GENERATOR.run(job(tmp_path))

    figures = told.figures
    assert figures["read_iops"] == figures["read_iops.readers"] > 0
    assert figures["write_iops"] == figures["write_iops.writer"] > 0
    assert figures["read_us_p99.readers"] >= figures["read_us_p50.readers"] > 0
    rate = figures["read_iops"] + figures["write_iops"]
    assert told.events == pytest.approx(rate * told.window_s, rel=0.1)
    assert told.latency_us == {} and told.distribution == (), "reads and writes are two things"
    assert {sample.metric for sample in told.samples} == {"read_iops", "write_iops"}
    assert list((tmp_path / "data").iterdir()), "the files lie where the study wants them"


@pytest.mark.slow
def test_times_of_the_only_kind_of_operation_are_a_distribution(tmp_path: Path) -> None:
    told = GENERATOR.run(job(tmp_path, JOB.partition("[writer]")[0]))

    assert sum(count for _, count in told.distribution) == told.events > 0
    values_ns = [value for value, _ in told.distribution]
    assert values_ns == sorted(values_ns)
    assert values_ns[-1] / 1000 == pytest.approx(told.latency_us["max"], rel=0.02)


@pytest.mark.slow
def test_seconds_of_a_job_are_the_sum_over_its_threads(tmp_path: Path) -> None:
    """Three threads log each for itself; fio puts their figures together."""
    several = replace(job(tmp_path), clients=3, measure_s=3.0)

    told = GENERATOR.run(several)

    seconds: dict[tuple[str, str], list[float]] = {}
    for sample in told.samples:
        seconds.setdefault((sample.instance, sample.metric), []).append(sample.value)
    assert seconds.keys() == {("readers", "read_iops"), ("writer", "write_iops")}
    # Not the figures of the job: fio stops its clock later than its logs on a busy machine.
    threads = {"readers": (1, 2, 3), "writer": (4,)}
    for (name, _), rates in seconds.items():
        logs = [tmp_path / f"scratch/fio_iops.{number}.log" for number in threads[name]]
        text = [log.read_text().splitlines() for log in logs]
        lines = [[int(line.split(", ")[1]) for line in log] for log in text]
        assert len(rates) == 3
        assert sum(map(min, lines)) <= min(rates) <= max(rates) <= sum(map(max, lines))


def test_a_line_counts_for_the_second_that_it_tells_of(tmp_path: Path) -> None:
    """fio writes a line up to 1 ms early, and later on a busy machine."""
    for number, times_ms in ((1, (499, 1000, 1499, 2000)), (2, (515, 1016, 1517, 2017))):
        lines = [f"{ms}, {100 * (line // 2 + 1)}, 0, 0, 0" for line, ms in enumerate(times_ms)]
        (tmp_path / f"log_iops.{number}.log").write_text("\n".join(lines))

    told = list(rates_by_second(tmp_path / "log", 0, ["readers", "readers"]))

    assert [(one.unix_ns, one.value) for one in told] == [(10**9, 200), (2 * 10**9, 400)]


def test_trims_in_a_log_are_no_rate_of_reads_or_writes(tmp_path: Path) -> None:
    (tmp_path / "log_iops.1.log").write_text("1000, 100, 0, 0, 0\n1000, 7, 2, 0, 0\n")

    rates = list(rates_by_second(tmp_path / "log", 0, ["both"]))

    assert [(rate.metric, rate.value) for rate in rates] == [("read_iops", 100)]


@pytest.mark.slow
def test_what_fio_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    broken = job(tmp_path, JOB.replace("randread", "sideways"))

    with pytest.raises(ScriptError, match=r"fio ended with code 1: .*sideways"):
        GENERATOR.run(broken)


def test_a_job_file_that_is_not_there_is_told_with_where_it_was_sought(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no job file `none\.fio`"):
        GENERATOR.run(job(tmp_path, jobfile="none.fio"))
