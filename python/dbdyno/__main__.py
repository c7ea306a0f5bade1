"""`python -m dbdyno`, the same as `dbdyno`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The folder one is in holds a study's files: a `queue.py` there is none of Python's own.
        del sys.path[0]

    from dbdyno.cli import main

    main()
