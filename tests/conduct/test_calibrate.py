"""Calibration: a study reduced to its baseline against itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.calibrate import ARM, BLOCKS, calibration
from dbdyno.design import cells
from dbdyno.design.batches import order_of
from dbdyno.errors import UsageError
from dbdyno.formats.study import read_study


def test_the_baselines_cell_stands_twice_and_differs_in_its_name_alone(study_file: Path) -> None:
    found = calibration(read_study(study_file), measured_s=60.0).study

    one, two = cells(found)
    assert (one.levels["journal"], one.levels[ARM]) == ("delete", "one")
    assert (two.levels["journal"], two.levels[ARM]) == ("delete", "two")
    assert (one.settings, one.options) == (two.settings, two.options)
    assert order_of(found) == "turns"


def test_the_time_is_shared_by_blocks_and_arms_at_the_largest_load(study_file: Path) -> None:
    found = calibration(read_study(study_file), measured_s=60.0).study

    assert found.design.blocks == BLOCKS
    assert found.load.measure_s == pytest.approx(60 / BLOCKS / 2)
    assert found.load.clients == (4,)


def test_too_short_a_time_names_the_least(study_file: Path) -> None:
    with pytest.raises(UsageError, match="too short") as caught:
        calibration(read_study(study_file), measured_s=5.0)

    assert caught.value.hint == "--time 24s is the least"


def test_a_tool_that_can_not_pause_is_refused(study_file: Path) -> None:
    text = study_file.read_text().replace('script = "nothing"', 'generator = "fio"')
    study_file.write_text(text.replace("table_size = 10", 'jobfile = "x.fio"'))

    with pytest.raises(UsageError, match="can't be driven in turns"):
        calibration(read_study(study_file), measured_s=60.0)
