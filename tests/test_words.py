"""Words of the code: names that say what a thing is, docstrings that say something.

Docstrings name only what exists, in backticks, and are not too short to say anything. Names like
`told` or `one` say nothing of the thing they stand for: each room has so many of them, and the
figure may only fall (`VAGUE`). Types named by a word that once had several meanings are where the
glossary's meaning is at home (`MEANINGS`).
"""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SHORTEST = 15
"""Characters of a docstring."""

TICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
PATH = re.compile(r"[\w./{},-]+\.(?:py|rs)")

OTHERS = {
    "ru_maxrss": "the kernel's getrusage",
    "perf_event_open": "a system call",
    "perf_event": "the kernel's header",
    "PR_SET_CHILD_SUBREAPER": "a call of prctl",
    "hashtextextended": "PostgreSQL's function",
    "innodb_fast_shutdown": "a setting of MySQL",
    "large_pages": "a setting of MySQL",
    "smaps": "a file of the kernel",
    "read_per_s": "a figure whose name is put together from a tool's words",
    "write_bytes_per_s": "the same",
}
"""Names that stand nowhere in our code → whose they are."""

VAGUE_NAMES = frozenset({"told", "found", "said", "one", "each"})

VAGUE = {
    "bench": 20,
    "python/dbdyno/cli": 30,
    "python/dbdyno/collect": 10,
    "python/dbdyno/conduct": 20,
    "python/dbdyno/engine": 10,
    "python/dbdyno/formats": 10,
    "python/dbdyno/generators": 20,
    "python/dbdyno/report": 120,
    "python/dbdyno/servers": 40,
    "python/dbdyno/stats": 10,
    "python/dbdyno/store": 10,
    "tests": 30,
    "tests/bench": 20,
    "tests/cli": 70,
    "tests/collect": 50,
    "tests/conduct": 40,
    "tests/design": 20,
    "tests/engine": 40,
    "tests/formats": 20,
    "tests/generators": 40,
    "tests/guard": 10,
    "tests/report": 140,
    "tests/servers": 20,
    "tests/setters": 10,
    "tests/stats": 90,
    "tests/store": 10,
    "tests/sysbench": 30,
    "tests/whole": 70,
    "tests/workloads": 20,
}
"""Room → how many names of parameters and variables may be vague, rounded up to tens; it only
falls."""
ROUNDED = 10


MEANINGS = {
    "Session": (
        "with a server, from log-in on",
        ("crates/driver/src/", "python/dbdyno/model/session.py", "python/dbdyno/servers/"),
    ),
    "Turn": (
        "some seconds of load on one cell while others wait",
        ("crates/record/src/", "python/dbdyno/model/measurement.py"),
    ),
    "Load": (
        "what clients ask of a server",
        (
            "python/dbdyno/bridges/redis_load.py",
            "python/dbdyno/conduct/run/",
            "python/dbdyno/model/load.py",
            "python/dbdyno/report/answer/busy.py",
            "python/dbdyno/serve/seconds.py",
        ),
    ),
}
"""Last word of a type's name → what it means (docs/glossary.md), and where such types are."""

RUST_TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) (\w+)", re.MULTILINE)


@cache
def tracked() -> tuple[Path, ...]:
    """What is or could be committed; links and what was deleted excepted."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


@dataclass
class Module:
    """What a module says and names, collected in one walk."""

    path: str
    prose: list[tuple[int, str]] = field(default_factory=list)
    """Line and text of docstrings, those below fields and constants included, and comments."""
    docstrings: list[tuple[int, str]] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    """Every name in its code, and every word in its texts but the docstrings."""
    vague: list[str] = field(default_factory=list)
    """Vague names of parameters and variables, where they are named."""


def read_module(path: str, text: str) -> Module:
    module = Module(path)
    nodes = list(ast.walk(ast.parse(text)))
    silent: set[int] = set()
    for node in nodes:
        body = getattr(node, "body", None)
        for part in body if isinstance(body, list) else ():
            doc = part.value if isinstance(part, ast.Expr) else None
            if isinstance(doc, ast.Constant) and isinstance(doc.value, str):
                module.docstrings.append((part.lineno, doc.value))
                silent.add(id(doc))
    for node in nodes:
        names = [getattr(node, key, None) for key in ("id", "attr", "name", "arg", "module")]
        named = isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
        module.vague += [name for name in (names[0], names[3]) if named and name in VAGUE_NAMES]
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            names.append(node.value)
        for name in names:
            if isinstance(name, str):
                module.words.update(re.findall(r"\w+", name))
    comments = [(at, line) for at, line in enumerate(text.splitlines(), 1) if "# " in line]
    said = [(at, line.partition("# ")[2]) for at, line in comments]
    module.prose += [*module.docstrings, *said]
    return module


@cache
def modules() -> tuple[Module, ...]:
    paths = (path for path in tracked() if path.suffix == ".py")
    return tuple(read_module(str(path.relative_to(ROOT)), path.read_text()) for path in paths)


@cache
def known_words() -> frozenset[str]:
    """Words of all code, in whatever language, and of the names of files."""
    words = {word for module in modules() for word in module.words} | set(dir(builtins))
    for path in tracked():
        words |= set(re.findall(r"\w+", str(path.relative_to(ROOT))))
        if path.suffix in (".rs", ".toml", ".lua", ".js", ".j2", ".c", ".h") or not path.suffix:
            words |= set(re.findall(r"\w+", path.read_text(errors="replace")))
    return frozenset(words)


def test_names_in_backticks_exist() -> None:
    known = known_words() | OTHERS.keys()
    unknown = [
        f"{module.path}:{line}: `{name}`"
        for module in modules()
        for line, prose in module.prose
        for name in TICKED.findall(prose)
        if NAME.fullmatch(name) and not set(re.findall(r"[a-zA-Z_]\w*", name)) <= known
    ]

    assert unknown == [], "say what it is called, or list whose name it is in OTHERS"


def test_docstrings_say_something() -> None:
    short = [
        f"{module.path}:{line}: {text!r}"
        for module in modules()
        for line, text in module.docstrings
        if len(text) < SHORTEST
    ]

    assert short == [], "say what it does, holds or means, or leave it out"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/contracts", "docs/decisions"])
def test_files_named_on_a_page_exist(page: str) -> None:
    """By the end of their path; `src` of a crate may be left out."""
    known = [str(path.relative_to(ROOT)).replace("/src/", "/") for path in tracked()]
    pages = [ROOT / page] if page.endswith(".md") else sorted((ROOT / page).glob("*.md"))
    unknown = [
        f"{path.name}: `{name}`"
        for path in pages
        for ticked in TICKED.findall(path.read_text())
        if PATH.fullmatch(ticked)
        for name in spelled_out(ticked)
        if not any(f"/{other}".endswith(f"/{name}") for other in known)
    ]

    assert unknown == []


def spelled_out(name: str) -> Iterator[str]:
    """`a/{b,c}.rs` as `a/b.rs` and `a/c.rs`."""
    braced = re.search(r"\{([^}]*)\}", name)
    if braced is None:
        yield name.replace("/src/", "/")
        return
    for part in braced[1].split(","):
        yield from spelled_out(name.replace(braced[0], part, 1))


def room_of(path: str) -> str:
    """The room of the lab, or the folder of tests, that a module is in."""
    parts = Path(path).parts
    depth = {"python": 3, "tests": 2}.get(parts[0], 1)
    return "/".join(parts[: min(depth, len(parts) - 1)])


def test_names_say_what_a_thing_is() -> None:
    rooms: Counter[str] = Counter()
    for module in modules():
        rooms[room_of(module.path)] += len(module.vague)
    more = [
        f"{room}: {count}, at most {VAGUE.get(room, 0)}: name it by what it is"
        for room, count in sorted(rooms.items())
        if count > VAGUE.get(room, 0)
    ]
    fewer = [
        f"{room}: {rooms[room]}, at most {most}: lower it"
        for room, most in VAGUE.items()
        if rooms[room] <= most - 2 * ROUNDED
    ]

    assert (more, fewer) == ([], []), "see VAGUE"


def types() -> Iterator[tuple[str, str]]:
    """File and name of each type of the lab and the engine."""
    for path in tracked():
        file = str(path.relative_to(ROOT))
        if file.startswith("python/") and path.suffix == ".py":
            nodes = ast.walk(ast.parse(path.read_text()))
            yield from ((file, node.name) for node in nodes if isinstance(node, ast.ClassDef))
        elif file.startswith("crates/") and path.suffix == ".rs":
            yield from ((file, name) for name in RUST_TYPE.findall(path.read_text()))


def test_types_are_named_by_the_meaning_of_their_word() -> None:
    named = [
        (file, name, word)
        for file, name in types()
        for word in MEANINGS
        if re.search(rf"(?:^|[a-z_]){word}$", name)
    ]
    elsewhere = [
        f"{file}: {name}: a {word.lower()} is {MEANINGS[word][0]}: name it otherwise, or list it"
        for file, name, word in named
        if not file.startswith(MEANINGS[word][1])
    ]
    unused = [
        place
        for word, (_, places) in MEANINGS.items()
        for place in places
        if not any(file.startswith(place) and word == of for file, _, of in named)
    ]

    assert (elsewhere, unused) == ([], [])


def test_everything_said_and_named_is_seen() -> None:
    text = (
        '"""a"""\nclass B:\n    """b"""\n    c: int\n    """d"""\nX = "y z"\n"""e"""\n'
        "def f(told): return [one for one in told]  # g\nfound = each.said = 1\n"
    )
    module = read_module("module.py", text)

    assert sorted(text for _, text in module.docstrings) == ["a", "b", "d", "e"]
    assert sorted(text for _, text in module.prose) == ["a", "b", "d", "e", "g"]
    assert module.words == {*"BcXyzf", "int", "told", "one", "found", "each", "said"}
    assert sorted(module.vague) == ["found", "one", "told"]
