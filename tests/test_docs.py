"""The pages against the code: commands exist, links lead somewhere, the reference is current."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = ROOT / "docs" / "decisions"
LONGEST_DECISION = 250
"""Words of a page."""
LONGEST_ARCHITECTURE = 1300
SCREEN = 45
"""Lines of a section."""
GENERATED = "\n## Flags and exit codes\n"
"""What stands below it on a page is held against the code by the one who writes it."""
VERBS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands(page: Path, program: str) -> list[list[str]]:
    """The lines of the page's fenced code that call `program`, as words."""
    by_hand, _, _ = page.read_text().partition(GENERATED)
    fenced = "\n".join(re.findall(r"```\w*\n(.*?)```", by_hand, re.DOTALL))
    calls = [line.split("#")[0].split() for line in fenced.replace("\\\n", " ").splitlines()]
    return [call for call in calls if call and call[0].removeprefix("$") == program]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_verb_on_a_page_exists(page: Path) -> None:
    assert {call[1] for call in commands(page, "make")} <= VERBS


def test_contributing_names_every_make_verb() -> None:
    named = {call[1] for call in commands(ROOT / "CONTRIBUTING.md", "make")}

    assert named == VERBS - {"quickstart"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_flag_on_a_page_exists(page: Path) -> None:
    group: click.Group = import_module("dbdyno.cli").cli
    for call in commands(page, "dbdyno"):
        command = group.get_command(click.Context(group), call[1])
        assert command is not None, call
        if call[1] == "sysbench":  # Its flags are sysbench's, and the engine's to read.
            continue
        known = {flag for parameter in command.params for flag in parameter.opts}
        used = {word.split("=")[0] for word in call[2:] if word.startswith("--")}
        assert used <= known | {"--help"}, " ".join(call)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("folder", [ROOT / "docs", DECISIONS], ids=lambda folder: folder.name)
def test_an_index_lists_every_page_below_it(folder: Path) -> None:
    """Decisions have an index of their own."""
    index = (folder / "README.md").read_text()
    below = [page.relative_to(folder) for page in PAGES if page.is_relative_to(folder)]
    inner = DECISIONS.relative_to(ROOT / "docs")
    listed = [page for page in below if page.parent != inner or page.name == "README.md"]

    assert [str(page) for page in listed if f"({page})" not in index] == ["README.md"]


@pytest.mark.parametrize("page", sorted(DECISIONS.glob("[!R]*.md")), ids=lambda page: page.stem)
def test_a_decision_says_what_why_and_what_was_tried(page: Path) -> None:
    title, *paragraphs = page.read_text().rstrip("\n").split("\n\n")
    index = (DECISIONS / "README.md").read_text()

    assert f"- [{title.removeprefix('# ')}]({page.name})\n" in f"{index}\n"
    heads = [re.match(r"\*\*([^*]+)\.\*\* \S", paragraph) for paragraph in paragraphs]
    assert [head and head[1] for head in heads] == ["Decision", "Why", "Tried and measured"]
    assert len(page.read_text().split()) <= LONGEST_DECISION, (
        "keep it short: figures stand in bench"
    )


def test_a_release_is_a_screen() -> None:
    """What is unreleased may be longer until it is released."""
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    releases = {section.split("\n")[0]: section for section in sections}

    assert next(iter(releases)) == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", name) for name in [*releases][1:])
    lengths = {name: len(section.splitlines()) for name, section in releases.items()}
    assert {name for name in [*releases][1:] if lengths[name] > SCREEN} == set()


def test_architecture_is_one_page_to_read() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()

    assert len(text.split()) <= LONGEST_ARCHITECTURE, "a contract or a decision has its own page"


def test_the_generated_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_package_and_engine_have_one_version() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

    assert package == engine


def test_the_lock_holds_what_the_project_asks_for() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = (ROOT / "requirements.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))
    asked = settings["project"]["dependencies"] + settings["dependency-groups"]["dev"]

    missing = [
        line
        for line in asked
        if not (wanted := Requirement(line)).specifier.contains(pins.get(wanted.name.lower(), "0"))
    ]

    assert missing == [], "run `make lock`"


def test_contributing_says_why_tests_are_nightly() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    marked = re.compile(r"\bmark(s=pytest\.mark)?\.nightly\b")
    files = [
        path for path in (ROOT / "tests").rglob("test_*.py") if marked.search(path.read_text())
    ]

    assert [
        str(file.relative_to(ROOT)) for file in files if f"`{file.relative_to(ROOT)}`" not in page
    ] == []
