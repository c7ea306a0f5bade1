"""Progress in words."""

from dbdyno.cli.pace import Pace
from dbdyno.model import Progress


def test_the_speed_is_that_since_the_phases_first_report() -> None:
    pace = Pace()
    said = [
        pace.text(Progress("connections", 900, 1000, 1_000_000_000)),
        pace.text(Progress("rows", 10_000, 0, 2_000_000_000)),
        pace.text(Progress("rows", 110_000, 0, 4_000_000_000)),
        pace.text(Progress("rows", 310_000, 0, 4_500_000_000)),
    ]
    assert said == [
        "900 of 1,000 connections",
        "10,000 rows",
        "110,000 rows (50,000/s)",
        "310,000 rows (120,000/s)",
    ]


def test_a_second_command_is_a_phase_of_its_own() -> None:
    pace = Pace()
    pace.text(Progress("rows", 10_000, 0, 1_000_000_000))
    pace.text(Progress("rows", 500_000, 0, 2_000_000_000))
    assert pace.text(Progress("rows", 7_000, 0, 1_000_000_000)) == "7,000 rows"
