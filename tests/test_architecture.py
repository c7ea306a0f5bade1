"""ARCHITECTURE.md against the code: the rooms that exist and the imports that are allowed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from python_imports import imports as python_imports
from rust_imports import NOT_CODE, imports, without_tests

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "dbdyno"

# Not rooms: the package's own page, its public names, and the links to data.
NOT_ROOMS = {"__init__.py", "__main__.py", "__pycache__", "py.typed", "studies", "workloads"}


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under `heading`, without its two header lines."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def words(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture(scope="module")
def arrows() -> dict[str, set[str]]:
    """Crate → the crates of this workspace it imports, as Cargo sees them; tests' excepted."""
    command = ("cargo", "metadata", "--no-deps", "--locked", "--format-version=1")
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    found = {}
    for package in json.loads(printed)["packages"]:
        room = Path(package["manifest_path"]).parent.name
        own = [d for d in package["dependencies"] if d.get("path") and d["kind"] != "dev"]
        found[room] = {Path(dependency["path"]).name for dependency in own}
    return found


@pytest.fixture(scope="module")
def allowed() -> dict[str, set[str]]:
    """Crate → the crates ARCHITECTURE.md lets it import."""
    rows = table("The engine: rooms and directions")
    rooms = {words(row[1])[0] for row in rows}
    return {words(row[1])[0]: rooms if row[3] == "all" else set(words(row[3])) for row in rows}


def test_the_engines_table_names_exactly_the_crates_that_exist(
    arrows: dict[str, set[str]], allowed: dict[str, set[str]]
) -> None:
    assert set(allowed) == set(arrows)


def test_no_crate_imports_what_the_table_does_not_allow(
    arrows: dict[str, set[str]], allowed: dict[str, set[str]]
) -> None:
    excess = {room: rooms - allowed[room] for room, rooms in arrows.items()}

    assert {room: rooms for room, rooms in excess.items() if rooms} == {}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Nodes of some circle in `graph`, the first one again at the end; empty: there is none."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        done.add(node)
        found = (walk(after, [*path, node]) for after in sorted(graph.get(node, ())))
        return next((nodes for nodes in found if nodes), [])

    return next((nodes for node in sorted(graph) if (nodes := walk(node, []))), [])


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("room", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_no_files_of_a_crate_import_one_another_in_a_circle(room: str) -> None:
    assert circle(imports(ROOT / "crates" / room / "src")) == []


# How a file can name something of `b.rs`, or of a file below it.
@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("use crate::b;", "b.rs"),
        ("use crate::b::*;", "b.rs"),
        ("use crate::b::{self, Thing};", "b.rs"),
        ("use super::b::Thing as Other;", "b.rs"),
        ("use crate::{a::{Own}, b::{Thing}};", "b.rs"),
        ("pub(crate) use super::{\n    b::c::{deep, deeper},\n};", "b/c.rs"),
        ("fn f() { crate::b::f() }", "b.rs"),
        ("fn f() -> Vec<super::b::Thing> { vec![] }", "b.rs"),
        ("use crate::b;\nfn f() { b::c::f() }", "b/c.rs"),
        ("use crate::PassedOn;", "b/c.rs"),
        ("use crate::b::PassedOn;", "b/c.rs"),
        ("use crate::InTheRoot;", "lib.rs"),
    ],
)
def test_every_form_of_naming_another_file_is_seen(tmp_path: Path, code: str, named: str) -> None:
    write_crate(tmp_path, code)

    assert named in imports(tmp_path)["a.rs"]


@pytest.mark.parametrize(
    "code",
    [
        "// use crate::b;",
        "/* crate::b::f() */",
        "/// See [`crate::b::f`].\nfn f() {}",
        'const TEXT: &str = "crate::b::f()";',
        'const TEXT: &str = r#"a " crate::b::f()"#;',
        "use b::Thing;",
        "use std::{b::f, fmt};",
        "fn f(value: crate::a::Own) {}",
        "#[cfg(test)]\nuse crate::b;",
        "#[cfg(test)]\nmod tests {\n    use crate::b;\n    fn f() { b::f() }\n}",
        "#[cfg(all(test, not(miri)))]\nmod tests;",
    ],
)
def test_what_names_no_other_file_is_no_import(tmp_path: Path, code: str) -> None:
    write_crate(tmp_path, code)

    assert imports(tmp_path)["a.rs"] == set()


def write_crate(source: Path, code: str) -> None:
    """A crate of four files, one of which, `a.rs`, has this code."""
    root = "mod a;\nmod b;\npub use b::PassedOn;\npub struct InTheRoot;\n"
    (source / "b").mkdir()
    (source / "lib.rs").write_text(root)
    (source / "a.rs").write_text(code)
    (source / "b.rs").write_text("pub mod c;\npub use c::PassedOn;\npub struct Thing;\n")
    (source / "b" / "c.rs").write_text("pub struct PassedOn;\n")


@pytest.mark.parametrize("package", [PACKAGE, ROOT / "bench"], ids=lambda path: path.name)
def test_no_modules_import_one_another_in_a_circle(package: Path) -> None:
    graph = python_imports(package)
    assert sum(map(len, graph.values())) > len(graph), "imports are seen"

    assert circle(graph) == []


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("from room.b import f", "room.b"),
        ("from room import b", "room.b"),
        ("from room import Thing", "room"),
        ("import room.b", "room.b"),
        ("import room.b as other", "room.b"),
        ("from . import b", "room.b"),
        ("from .b import f", "room.b"),
        ("from . import Thing", "room"),
        ("def f():\n    from room.inner import deep", "room.inner.deep"),
        ("from .inner.deep import f", "room.inner.deep"),
        ("from room.inner import Thing", "room.inner"),
    ],
)
def test_every_form_of_importing_a_module_is_seen(tmp_path: Path, code: str, named: str) -> None:
    room = tmp_path / "room"
    (room / "inner").mkdir(parents=True)
    for name in ("__init__.py", "b.py", "inner/__init__.py"):
        (room / name).write_text("import json\n")
    (room / "inner" / "deep.py").write_text("from ..b import f\nfrom . import Thing\n")
    (room / "a.py").write_text(code)
    graph = python_imports(room)

    assert graph["room.a"] == {named}
    assert graph["room.inner.deep"] == {"room.b", "room.inner"}
    assert graph["room"] == set()


def test_only_record_derives_serialisation(arrows: dict[str, set[str]]) -> None:
    deriving = {
        room
        for room in arrows
        for path in (ROOT / "crates" / room / "src").rglob("*.rs")
        if re.search(r"derive\([^)]*\b(Serialize|Deserialize)\b", path.read_text())
    }

    assert deriving == {"record"}


# Files above `driver` that name a kind of database, and why.
NAMES_A_KIND = {
    "sysbench/src/plan.rs": "makes targets of sysbench's --db-driver and the options of each",
}
KIND = re.compile(r"\bTarget *:: *(?:Mysql|Postgresql|Sqlite|\{|\*)")


def names_a_kind(code: str) -> bool:
    """Whether Rust code, its comments, texts and tests excepted, names a kind of `Target`."""
    return KIND.search(without_tests(NOT_CODE.sub(" ", code))) is not None


def test_only_the_driver_knows_what_kinds_of_databases_differ_in(
    allowed: dict[str, set[str]],
) -> None:
    above = {room for room, rooms in allowed.items() if "driver" in rooms} - {"driver"}
    above |= {room for room, rooms in allowed.items() if rooms & above}
    assert {"runtime", "script", "sysbench", "cli"} <= above
    naming = {
        str(path.relative_to(ROOT / "crates"))
        for room in above
        for path in (ROOT / "crates" / room / "src").rglob("*.rs")
        if names_a_kind(path.read_text())
    }

    assert naming == set(NAMES_A_KIND), "ask `driver::Traits`; take out exceptions that are gone"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("matches!(target, Target::Sqlite(_))", True),
        ("match target { record::Target::Mysql(server) => 1, _ => 0 }", True),
        ("use record::Target::{self, Postgresql};", True),
        ("use record::Target::*;", True),
        ("target.server(); // not Target::Mysql", False),
        ('let text = "Target::Mysql";', False),
        ("#[cfg(test)]\nmod tests {\n    fn f() -> Target { Target::Mysql(server()) }\n}", False),
        ("let target = Target::Null;", False),
    ],
)
def test_naming_a_kind_of_database_is_seen(code: str, names: bool) -> None:
    assert names_a_kind(code) == names


def lab_layers() -> list[set[str]]:
    """The lab's rooms by layer, uppermost first."""
    layers: dict[str, set[str]] = {}
    for row in table("The lab: rooms and directions"):
        layers.setdefault(row[0], set()).add(words(row[1])[0].removesuffix(".py").strip("/"))
    return [layers[number] for number in sorted(layers, reverse=True)]


def test_the_labs_table_names_exactly_the_rooms_that_exist() -> None:
    found = {path.name for path in PACKAGE.iterdir()} | {"__pycache__"}
    rooms = found - NOT_ROOMS
    assert found >= NOT_ROOMS, "take out what is gone"

    assert set().union(*lab_layers()) == {room.removesuffix(".py") for room in rooms}


def test_the_import_contract_is_the_labs_table() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(c["layers"] for c in settings["contracts"] if c["type"] == "layers")

    assert [set(re.findall(r"\w+", layer)) for layer in layers] == lab_layers()


def test_the_lab_keeps_its_import_contracts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
