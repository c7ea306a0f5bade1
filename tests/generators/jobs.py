"""What tests of generators share: a step to be changed by `dataclasses.replace`."""

from pathlib import Path

from dbdyno.generators.generator import Job, Start
from dbdyno.guard.launch import ORDINARY

STEP = Job(
    program=Path(),
    options={},
    clients=2,
    warm_up_s=0.0,
    measure_s=2.0,
    data_folder=None,
    scratch=Path(),
    folders=(),
    start=Start(ORDINARY, lambda _: None),
)
