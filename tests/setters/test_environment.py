"""Environment variables of the server."""

from __future__ import annotations

import ctypes.util
import json
import os
from pathlib import Path

import pytest
from scene import scene
from server_process import told_by

from dbdyno.errors import ServerError, UsageError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.servers import open_server
from dbdyno.setters.environment import SETTER
from dbdyno.setters.outfit import apply_all, missing_of_host


def library() -> str:
    """A library that loads into any process of this machine."""
    maps = Path("/proc/self/maps").read_text()
    name = ctypes.util.find_library("m")
    assert name is not None
    return next(word for word in maps.split() if word.endswith(name) or "/libm." in word)


def test_texts_and_whole_numbers_are_variables_by_name() -> None:
    value = {"MALLOC_ARENA_MAX": 2, "GOGC": "off"}
    assert SETTER.read(value).environment == (("GOGC", "off"), ("MALLOC_ARENA_MAX", "2"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("MALLOC_ARENA_MAX=2", "a table of variables; found 'MALLOC"),
        ({}, "a table of variables; found {}"),
        ({"A B": "x"}, "letters, digits and `_`; found 'A B'"),
        ({"PATH": "/x"}, "`PATH` is set by dbdyno itself"),
        ({"A": True}, "`A`: expected a text or a whole number; found True"),
        ({"A": 1.5}, "`A`: expected a text or a whole number; found 1.5"),
        ({"A": "x\0y"}, "`A`: expected a text"),
    ],
)
def test_what_can_not_be_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SETTER.read(value)
    with pytest.raises(UsageError, match=r"host\.environment"):
        missing_of_host({"environment": value})


def test_a_library_that_is_not_there_is_missing() -> None:
    preloaded = {"LD_PRELOAD": f"{library()}:/nowhere/liballocator.so"}
    (missing,) = missing_of_host({"environment": preloaded})["environment"]
    assert missing.what == "there is no library /nowhere/liballocator.so"


def test_variables_add_up_and_the_later_wins() -> None:
    first = Launch(nice=3, environment=(("A", "1"), ("B", "1")))
    second = Launch(environment=(("B", "2"),))
    joined = first.joined(second)
    assert (joined.nice, joined.environment) == (3, (("A", "1"), ("B", "2")))
    assert Launch.from_document(json.loads(json.dumps(joined.document()))) == joined
    assert second.prefix() == ["env", "B=2"]
    assert ORDINARY.prefix() == []


def test_a_process_is_started_with_them_and_says_so(tmp_path: Path) -> None:
    with Guarded() as guarded:
        wishes = {"environment": {"DYNO_A": "one two", "LD_PRELOAD": library()}}
        outfit = apply_all(wishes, guarded, scene(tmp_path))
        printed = told_by(guarded, outfit.server, ["sh", "-c", 'echo "$DYNO_A"'], tmp_path)
        assert printed == "one two\n"
        pid = guarded.spawn(
            ["sleep", "100"],
            output=tmp_path / "log",
            cwd=tmp_path,
            env=os.environ,
            launch=outfit.server,
        )
        process = Path(f"/proc/{pid}")
        # The loader maps the library a moment after the program has taken the process over.
        while (
            b"sleep" not in (process / "cmdline").read_bytes()
            or library() not in (process / "maps").read_text()
        ):
            assert guarded.wait(pid, 0.02) is None
        facts = outfit.facts([pid])["environment"]
    assert facts["before"] == {"DYNO_A": None, "LD_PRELOAD": None}
    assert facts["after"] == wishes["environment"]
    assert facts["got"] == {"DYNO_A": "one two", "LD_PRELOAD": library()}


def test_a_process_that_did_not_get_them_says_so(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"environment": {"DYNO_A": "1"}}, guarded, scene(tmp_path))
    assert outfit.facts([os.getpid()])["environment"]["got"] == {}


@pytest.mark.slow
def test_a_server_gets_them(tmp_path: Path) -> None:
    with Guarded() as guarded:
        wishes = {"environment": {"MALLOC_ARENA_MAX": 1, "LD_PRELOAD": library()}}
        outfit = apply_all(wishes, guarded, scene(tmp_path))
        with open_server("mariadb@system", {}, tmp_path / "run", outfit.server) as server:
            server.start()
            got = outfit.facts(server.node.processes())["environment"]["got"]
    assert got == {"MALLOC_ARENA_MAX": "1", "LD_PRELOAD": library()}


def test_a_database_without_a_process_has_none(tmp_path: Path) -> None:
    launch = SETTER.read({"A": "1"})
    with (
        pytest.raises(ServerError, match="no process of its own"),
        open_server("sqlite", {}, tmp_path, launch),
    ):
        pass
