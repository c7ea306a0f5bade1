"""What reviews would otherwise repeat: headings, lengths, words, leftovers, addresses.

Each rule answers with `file:line: what is wrong; what to do`. The reasons stand in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LINE_LIMIT = 100
FUNCTION_LIMIT = 70
FILE_LIMIT = 500
CODE = (".rs", ".py", ".lua", ".js", ".c", ".h")

# File → why it may be longer.
LONG_FILES: dict[str, str] = {}

# Hosts a URL may name, and why. Packages come from wherever the machine's clients are set up for.
HOSTS = {
    "127.0.0.1": "loopback",
    "example.org": "for documents (RFC 2606)",
    "www.w3.org": "the namespace of SVG",
}

# File → why it waits by the clock: nothing tells it that the condition holds.
SLEEPS = {
    "python/dbdyno/generators/damage.py": "processes of others that end have no descriptor to wait",
    "python/dbdyno/guard/locked_folder.py": "dying processes do not say when they write no more",
    "python/dbdyno/guard/undo.py": "the kernel does not say when a mount or a group is free",
    "python/dbdyno/guard/journal.py": "a lock of a file with a deadline can only be tried again",
    "tests/whole/ray_cluster.py": "Ray does not say when processes of its hosts are up or gone",
    "tests/engine/test_outage.py": "an outage's length is time itself",
}

# Call → where it is right, and what to say elsewhere.
BANNED_CALLS: dict[str, tuple[str | tuple[str, ...], str]] = {
    r"\bsys\.exit\(|\bos\._exit\(": (
        # A keeper is a fork: it must not run on as a second guard. An actor whose lab is gone has
        # nobody to raise an error for.
        ("python/dbdyno/cli/", "python/dbdyno/guard/keeper.py", "python/dbdyno/places/ray_host.py"),
        "raise a LabError; `cli` exits",
    ),
    r"\bos\.system\(|shell=True": ("", "give subprocess a list of arguments"),
    r"\btime\.sleep\(": (
        tuple(SLEEPS),
        "wait for the condition itself, with a deadline",
    ),
    r"\benv::(var|vars|var_os)\(": (
        ("crates/cli/", "crates/driver/tests/", "crates/record/tests/"),
        "let `cli` read it and pass it on",
    ),
    r"\b(todo|unimplemented)!\(": ("", "write it, or return an error that says so"),
}

# Part of a name → what the glossary says instead.
BANNED_WORDS = {
    "benchmark": "study, run or workload",
    "qps": "statements_per_s",
    "quantile": "percentile",
    "request": "event or statement",
    "tps": "events_per_s",
}

# Place → whose own word stands there.
WORDS_OF_OTHERS = {
    "crates/wire-": "PostgreSQL's SSLRequest",
    "crates/driver/": "PostgreSQL's SSLRequest; what a session has sent and not heard of",
    "tests/conftest.py": "pytest's request",
    "tests/generators/": "pytest's request",
    "tests/loading/": "pytest's request",
    "tests/report/": "pytest's request",
    "tests/servers/test_mongodb.py": "pytest's request",
    "tests/workloads/test_documents.py": "pytest's request",
    "tests/workloads/test_ontime.py": "pytest's request",
    "tests/whole/": "pytest's request; a published benchmark is its authors' word",
    "tests/sysbench/": "pytest's request",
}

LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|<{7} |>{7} ")
BANNER = re.compile(r"^\s*(//|#|--)(\s*[-=*#─]{4,}|.*[-=*#─]{4,}\s*$)")
MACHINE_PATH = re.compile(r"(?<![\w.~$}])/(root|home|work|Users)/\w")
URL = re.compile(r"\bhttps?://([\w.-]+)")
RUST_FUNCTION = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:[a-z]+ |extern \"[\w-]+\" )*fn (\w+)")
# Wherever it stands in its line: after `return`, in a table, as an argument.
LUA_FUNCTION = re.compile(r"^( *)(?!--)(?:.*[^\w.])?function\b *([\w.:]*) *\([^()]*\) *(?:--.*)?$")
# The layout of our own C: what a function returns begins its line, and its body ends with a brace
# that does.
C_FUNCTION = re.compile(r"^(?:[a-z][\w *]*[ *])?(\w+)\(")
# A function that a name or a property stands for; those around a whole file are no functions.
JS_FUNCTION = re.compile(r"^( +)(?:const (\w+) = |(?:async )?function (\w+)).*\{$")
RUST_NAME = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|mod|let|let mut) (\w+)")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def files(*suffixes: str) -> Iterator[tuple[str, str]]:
    """Path and text of what is or could be committed, by suffix; this file and links excepted."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(filter(None, listed.split("\0"))):
        path = ROOT / name
        ours = path.is_file() and not path.is_symlink() and path != Path(__file__)
        if ours and (not suffixes or path.suffix in suffixes):
            yield name, path.read_text(errors="replace")


# Nobody writes these: locks, the licence, recorded data, pictures.
NOT_BY_HAND = (".lock", "LICENSE", ".hlog", ".ndjson", ".png", ".svg")


def written_by_hand() -> Iterator[tuple[str, str]]:
    """Everything but locks, the licence, recorded data and pictures."""
    return ((name, text) for name, text in files() if not name.endswith(NOT_BY_HAND))


def lines(source: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """File, `file:line` and the line."""
    for name, text in source:
        for number, line in enumerate(text.splitlines(), 1):
            yield name, f"{name}:{number}", line


def test_every_file_says_at_its_top_what_it_is() -> None:
    rust = [n for n, text in files(".rs") if not text.startswith("//! ")]
    python = [n for n, text in files(".py") if not ast.get_docstring(ast.parse(text))]
    lua = [n for n, text in files(".lua") if not is_a_trial(n) and text[:2] != "--"]
    comment = re.compile(r"(?:\"use strict\";\n)?/[/*]")
    others = [n for n, text in files(".js", ".c", ".h") if not comment.match(text)]

    assert rust + python + lua + others == []


def is_a_trial(name: str) -> bool:
    """Whether a script is what a test of sysbench's API runs: the test says what it is about."""
    return name.startswith("tests/sysbench/")


def test_lines_are_short() -> None:
    code = ((n, t) for n, t in files() if n.endswith(CODE) or "scripts/" in n)
    long = [f"{where}: {len(line)}" for _, where, line in lines(code) if len(line) > LINE_LIMIT]

    assert long == []


def test_files_are_short() -> None:
    lengths = {name: len(text.splitlines()) for name, text in files(*CODE)}
    long = {name for name, length in lengths.items() if length > FILE_LIMIT}

    assert long == set(LONG_FILES), "split it, or list it with its reason"


def test_functions_are_short() -> None:
    long = [
        f"{name}:{line}: {function} has {length} lines"
        for source, measure in (
            (files(".py"), python_functions),
            (files(".rs"), rust_functions),
            (files(".lua"), lua_functions),
            (files(".js"), js_functions),
            (files(".c", ".h"), c_functions),
        )
        for name, text in source
        for function, line, length in measure(text)
        if length > FUNCTION_LIMIT
    ]

    assert long == []


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def rust_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function with a body of several lines.

    Read off the layout that rustfmt gives: a body ends with the first brace that stands as far left
    as its `fn`.
    """
    content = text.splitlines()
    for start, line in enumerate(content):
        if not (found := RUST_FUNCTION.match(line)) or line.endswith((";", "}")):
            continue
        indent, name = found.groups()
        for end in range(start + 1, len(content)):
            if content[end].startswith(f"{indent})") and content[end].endswith(";"):
                break
            if content[end] == f"{indent}}}":
                yield name, start + 1, end - start + 1
                break


def lua_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function whose `end` stands as far left as it does."""
    content = text.splitlines()
    for start, line in enumerate(content):
        if not (found := LUA_FUNCTION.match(line)) or re.search(r"\bend\b", line):
            continue
        indent, name = found.groups()
        for end in range(start + 1, len(content)):
            if re.match(rf"{indent}end\b", content[end]):
                yield name, start + 1, end - start + 1
                break


def js_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """The same of JavaScript: each function's last brace stands as far left as its beginning."""
    content = text.splitlines()
    for start, line in enumerate(content):
        if not (found := JS_FUNCTION.match(line)) or not re.search(r"=> \{$|\bfunction\b", line):
            continue
        indent, constant, function = found.groups()
        for end in range(start + 1, len(content)):
            if content[end].startswith(f"{indent}}}"):
                yield constant or function, start + 1, end - start + 1
                break


def c_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function in C."""
    content = text.splitlines()
    for start, line in enumerate(content):
        if not (found := C_FUNCTION.match(line)) or line.endswith("}"):
            continue
        for end in range(start, len(content)):
            if content[end].endswith(";") and not content[end].startswith(" "):
                break
            if content[end] == "}":
                yield found[1], start + 1, end - start + 1
                break


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("local function a()\n  b = function()\n    c()\n  end\nend\n", [("a", 5), ("", 3)]),
        ("function d.e() end\n", []),
        ("return function(x, ...) -- why\n  f()\nend\n", [("", 3)]),
        ("local t = {\n  a = function(id)\n    f()\n  end,\n}\n", [("", 3)]),
        ('local t = { "a", function()\n  f()\nend }\n', [("", 3)]),
        ("each(1, function(x)\n  f(x)\nend)\n", [("", 3)]),
        ("-- a function()\nend\n", []),
        ("local malfunction = dysfunction(a)\nend\n", []),
    ],
)
def test_the_lua_measure_sees_functions_and_their_length(
    text: str, found: list[tuple[str, int]]
) -> None:
    assert [(name, length) for name, _, length in lua_functions(text)] == found


def test_the_javascript_measure_sees_functions_and_their_length() -> None:
    text = "(() => {\n  const a = async (b, c) => {\n    const d = {\n    };\n  };\n})();\n"

    assert list(js_functions(text)) == [("a", 2, 4)]


def test_the_c_measure_sees_functions_and_their_length() -> None:
    text = (
        "static int a(int b);\nint b(void) { return 1; }\n"
        "static const char *c(int d,\n    int e) {\n    return f();\n}\n\n"
        "int main(void) {\n    for (;;) {\n    }\n}\n"
    )

    assert list(c_functions(text)) == [("c", 3, 4), ("main", 8, 4)]


def test_the_rust_measure_sees_functions_of_every_convention() -> None:
    text = 'pub(crate) unsafe extern "C-unwind" fn a(b: u8) -> u8 {\n    b\n}\n'

    assert list(rust_functions(text)) == [("a", 1, 3)]


def test_the_measure_of_banners_sees_words_before_the_line() -> None:
    seen = ("-- Rows of bulk inserts ------", "// ====", "# ---- a")
    plain = ("-- a - b", "# It is --- as it were.", "//! | a | b |", "#!/bin/sh")

    assert [text for text in (*seen, *plain) if BANNER.match(text)] == list(seen)


def test_the_rust_measure_sees_functions_and_their_length() -> None:
    text = (
        "impl A {\n    pub fn a(\n        b: u8,\n    ) -> u8 {\n        b\n    }\n    fn c();\n}\n"
    )

    assert list(rust_functions(text)) == [("a", 2, 5)]


def test_no_banned_call() -> None:
    found = [
        f"{where}: {instead}"
        for name, where, line in lines(files(".py", ".rs"))
        for pattern, (home, instead) in BANNED_CALLS.items()
        if re.search(pattern, line) and not (home and name.startswith(home))
    ]

    assert found == []


def test_names_are_words_of_the_glossary() -> None:
    found = [
        f"{file}: `{name}`: say {BANNED_WORDS[word]}"
        for file, name in names_we_gave()
        for word in (part.lower() for part in WORD.findall(name))
        if word in BANNED_WORDS and not file.startswith(tuple(WORDS_OF_OTHERS))
    ]

    assert sorted(set(found)) == []


def names_we_gave() -> Iterator[tuple[str, str]]:
    """Names of functions, types, parameters and variables where they are defined."""
    for file, text in files(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield file, node.name
            elif isinstance(node, ast.arg):
                yield file, node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield file, node.id
    for file, text in files(".rs"):
        for name in RUST_NAME.findall(text):
            yield file, name


def test_every_banned_word_stands_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text().lower()

    assert [word for word in BANNED_WORDS if word not in glossary] == []


def test_nothing_was_left_behind() -> None:
    found = [w for _, w, line in lines(written_by_hand()) if LEFTOVER.search(line)]
    banners = [w for _, w, line in lines(files(*CODE)) if BANNER.match(line)]

    assert found + banners == []


def test_no_path_of_a_machine() -> None:
    assert [w for _, w, line in lines(written_by_hand()) if MACHINE_PATH.search(line)] == []


def test_no_address_but_the_listed_ones() -> None:
    found = [
        f"{where}: {host}"
        for _, where, line in lines(written_by_hand())
        for host in URL.findall(line)
        if host not in HOSTS
    ]

    assert found == []


def test_rust_s_lints_are_expected_to_complain_where_they_are_switched_off() -> None:
    """The compiler finds an `expect` that is no longer needed; of an `allow` nobody hears."""
    found = [
        where
        for _, where, line in lines(files(".rs"))
        if re.search(r"#!?\[allow\(", line) and not re.search(r"\(dead_code, reason = \"", line)
    ]

    assert found == [], "say #[expect(lint, reason = …)]"


def test_no_exception_outlives_its_use() -> None:
    text = list(files())
    named = {host for _, _, line in lines(written_by_hand()) for host in URL.findall(line)}
    hosts = [host for host in HOSTS if host not in named]
    calls = [
        f"{home}: {pattern}"
        for pattern, (homes, _) in BANNED_CALLS.items()
        for home in ((homes,) if isinstance(homes, str) else homes)
        if home and not any(n.startswith(home) and re.search(pattern, t) for n, t in text)
    ]
    others = {
        file
        for file, name in names_we_gave()
        for word in WORD.findall(name)
        if word.lower() in BANNED_WORDS
    }
    words = [prefix for prefix in WORDS_OF_OTHERS if not any(f.startswith(prefix) for f in others)]
    by_machine = [end for end in NOT_BY_HAND if not any(name.endswith(end) for name, _ in text)]

    assert hosts + calls + words + by_machine == [], "take it out of its list"
