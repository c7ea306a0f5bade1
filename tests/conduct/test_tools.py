"""Outside tools in a study: generator, options and the files these name are checked with a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.load import load_study
from dbdyno.errors import StudyError


def study(folder: Path, workload: str) -> Path:
    file = folder / "tool.toml"
    file.write_text(
        f"""\
question = "Does it matter?"

[server.folder]
provision = "files"

[workload]
{workload}

[load]
clients = 1
measure = "1 s"
"""
    )
    return file


@pytest.mark.parametrize(
    ("workload", "line", "told"),
    [
        ('generator = "foi"', 7, "did you mean `fio`"),
        ('generator = "fio"', 6, "expected `jobfile`"),
        ('generator = "fio"\noptions = { jobfile = "none.fio" }', 8, "no job file `none.fio`"),
        ('generator = "pgbench"\noptions = { file = "x.sql" }', 8, "no pgbench script `x.sql`"),
    ],
)
def test_what_is_wrong_with_a_tool_is_told_with_its_line(
    tmp_path: Path, workload: str, line: int, told: str
) -> None:
    with pytest.raises(StudyError) as caught:
        load_study(str(study(tmp_path, workload)))

    assert caught.value.line == line
    assert told in caught.value.message


def test_a_job_file_beside_the_study_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.fio").write_text("[job]\n")

    load_study(str(study(tmp_path, 'generator = "fio"\noptions = { jobfile = "mine.fio" }')))
