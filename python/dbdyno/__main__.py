"""The program: `dbdyno`, and `python -m dbdyno`, the same.

`dbdyno sysbench` is the engine's: it is handed over before anything that takes time is imported,
which for short runs would cost more than the load.
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
    """In place of this process; returns where there is no engine, which the verb reports."""
    from dbdyno.engine.binary import find_engine
    from dbdyno.errors import LabError

    try:
        engine = str(find_engine().path)
    except LabError:
        return
    os.execv(engine, (engine, "sysbench", *arguments))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The folder one is in holds a study's files: a `queue.py` there is none of Python's own.
        del sys.path[0]
    main()
