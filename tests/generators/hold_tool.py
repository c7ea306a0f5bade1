"""A step of a generator in a process of its own, held until something ends it.

Run by tests that kill it. Arguments: the generator, its program, a folder that holds `data`,
`scratch` and the files named by the options, and the options as JSON.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from jobs import STEP

from dbdyno.generators.registry import find_generator


def main(name: str, program: Path, folder: Path, options: str) -> None:
    """One step of ten minutes."""
    job = replace(
        STEP,
        program=program,
        options=json.loads(options),
        clients=3,
        measure_s=600.0,
        data_folder=folder / "data",
        scratch=folder / "scratch",
        folders=(folder,),
    )
    find_generator(name).run(job)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
