"""Which file of a crate names something of which other file: paths of Rust source, resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# No paths in here: comments, texts, characters. A lifetime ('a) has no second quote.
NOT_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | b?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:\\.|[^"\\])*"
    | b?'(?:\\[^\n]+?|[^'\\\n])'""",
    re.VERBOSE | re.DOTALL,
)
OF_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
MODULE = re.compile(r"\bmod (\w+);")
USE = re.compile(r"\buse ([^;]+);")
# A path within an expression or type. What begins with a capital was brought in by a `use`.
PATH = re.compile(r"(?<![\w:.])(?:[a-z_]\w*)(?: *:: *\w+)+")

Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A module that is a file."""

    file: str
    children: frozenset[str]
    # What each name that a `use` brings in stands for, as written.
    imported: dict[str, Path_]
    # Every path in it, as written; those of `use` too.
    written: frozenset[Path_]


def imports(source: Path) -> dict[str, set[str]]:
    """File of a crate → its other files that it names something of, tests' excepted.

    A name that a module only passes on (`pub use`) belongs to the file that defines it. A module
    that is only named (`use crate::a;`) is its file.
    """
    crate = dict(modules(source))
    return {
        module.file: {
            crate[home].file
            for path in module.written
            if (home := home_of(crate, at, path)) is not None
        }
        - {module.file}
        for at, module in crate.items()
    }


def modules(source: Path) -> Iterator[tuple[Path_, Module]]:
    """The crate's modules by where they are in it; () is its root."""
    root = source / ("lib.rs" if (source / "lib.rs").exists() else "main.rs")
    waiting: list[tuple[Path_, Path]] = [((), root)]
    while waiting:
        at, file = waiting.pop()
        code = without_tests(NOT_CODE.sub(" ", file.read_text()))
        found = module(str(file.relative_to(source)), code)
        yield at, found
        opens_folder = at == () or file.name == "mod.rs"
        folder = file.parent if opens_folder else file.with_suffix("")
        for name in found.children:
            child = folder / f"{name}.rs"
            waiting.append(((*at, name), child if child.exists() else folder / name / "mod.rs"))


def module(file: str, code: str) -> Module:
    """What `code`, without comments and tests, says."""
    bound = [pair for tree in USE.findall(code) for pair in leaves(tree)]
    body = USE.sub(" ", code)
    inline = {tuple(re.split(r" *:: *", path)) for path in PATH.findall(body)}
    return Module(
        file=file,
        children=frozenset(MODULE.findall(code)),
        imported=dict(bound),
        written=frozenset(inline | {path for _, path in bound}),
    )


def leaves(tree: str, before: Path_ = ()) -> Iterator[tuple[str, Path_]]:
    """Each name that a `use` of `tree` brings in, and its path."""
    head, brace, rest = tree.strip().partition("{")
    names, _, alias = head.strip().partition(" as ")
    path = (*before, *(name.strip() for name in names.split("::") if name.strip()))
    if brace:
        for part in parts(rest.rpartition("}")[0]):
            yield from leaves(part, path)
        return
    path = path[:-1] if path[-1] in ("self", "*") and len(path) > 1 else path
    yield alias.strip() or path[-1], path


def parts(several: str) -> Iterator[str]:
    """What commas outside of inner braces separate."""
    depth, part = 0, ""
    for character in several:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield part
            part = ""
        else:
            part += character
    if part.strip():
        yield part


def without_tests(code: str) -> str:
    """`code` without the items that only tests are compiled with."""
    while found := OF_TESTS.search(code):
        end = end_of_item(code, found.end())
        code = code[: found.start()] + code[end:]
    return code


def end_of_item(code: str, start: int) -> int:
    """Where the item that begins at `start` is over: at a `;`, or its braces' end."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] in "{([") - (code[at] in "})]")
        if depth == 0 and code[at] in ";}":
            return at + 1
    return len(code)


def home_of(crate: dict[Path_, Module], at: Path_, path: Path_, depth: int = 0) -> Path_ | None:
    """The module that defines what `path` names in the module `at`; `None`: another crate."""
    first = path[0]
    if first in ("crate", "super", "self"):
        here = {"crate": (), "super": at[:-1], "self": at}[first]
    elif first in crate[at].children or first in crate[at].imported:
        return within(crate, at, path, depth)
    else:
        return None
    return within(crate, here, path[1:], depth)


def within(crate: dict[Path_, Module], here: Path_, rest: Path_, depth: int) -> Path_ | None:
    """The module that defines `rest` of the module `here`."""
    if not rest:
        return here
    name, further = rest[0], rest[1:]
    if name == "super":
        return within(crate, here[:-1], further, depth)
    if name in crate[here].children:
        return within(crate, (*here, name), further, depth)
    passed_on = crate[here].imported.get(name)
    if passed_on is None or depth > len(crate):
        return here
    return home_of(crate, here, (*passed_on, *further), depth + 1)
