"""The program: `dbdyno`, or `python -m dbdyno`.

`dbdyno sysbench` becomes the engine's process before anything slow is imported: for short runs the
imports would take longer than the load.
"""

import os
import sys


def main() -> None:
    """The console script."""
    if sys.argv[1:2] == ["sysbench"]:
        _hand_over(sys.argv[2:])
    from dbdyno.cli import main as verbs

    verbs()


def _hand_over(arguments: list[str]) -> None:
    """Replaces this process with the engine; returns if there is none, which the verb reports."""
    from dbdyno.engine.binary import find_engine
    from dbdyno.engine.drop_in import with_bundled
    from dbdyno.errors import LabError

    try:
        engine = str(find_engine().path)
    except LabError:
        return
    os.execv(engine, (engine, "sysbench", *with_bundled(arguments)))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current folder holds a study's files: a `queue.py` there must not replace Python's.
        del sys.path[0]
    main()
