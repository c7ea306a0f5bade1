"""Checks studies, each named as `NAME@SCALE`, and prints as JSON how each call ended: a program of
its own, so that another user can run it."""

from __future__ import annotations

import contextlib
import io
import json
import sys

from dbdyno.cli import call


def main() -> None:
    """Whatever is no `LabError` ends it with a traceback."""
    told = {}
    for named in sys.argv[1:]:
        name, _, scale = named.partition("@")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = call(["check", name, "--scale", scale])
        told[name] = {"code": code, "said": said.getvalue()}
    json.dump(told, sys.stdout)


main()
