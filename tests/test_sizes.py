"""How large files and classes of the lab may be: what is larger usually holds a second idea."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LAB = Path(__file__).parents[1] / "python" / "dbdyno"

FILE_LINES = 350
CLASS_FIELDS = 15
CLASS_METHODS = 15
"""Public ones, properties included."""

MIRRORS = {
    "formats/load_schema.py:LoadTable": "the table [load] of a study file",
    "formats/study_schema.py:StudyDocument": "a study file's tables and keys",
    "model/engine_plan.py:EnginePlan": "the answer of `dbdyno-engine plan`",
    "model/load.py:Load": "the table [load] of a study file, resolved",
    "model/result.py:RunManifest": "manifest.json",
    "model/result.py:StepSummary": "an entry of summary.json",
    "model/result.py:TurnResult": "a row of turns.parquet",
    "model/study.py:Study": "a study file, resolved",
}
"""Frozen data with more fields for good → what it mirrors, field by field."""


@cache
def classes() -> list[tuple[str, ast.ClassDef]]:
    """`path:Class` of the lab, nested ones included."""
    return [
        (f"{path.relative_to(LAB)}:{node.name}", node)
        for path in sorted(LAB.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]


def fields(node: ast.ClassDef) -> set[str]:
    """Declared ones, and those that methods assign to `self`; class constants are none."""
    declared = {
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and "ClassVar" not in ast.unparse(part.annotation)
    }
    assigned = {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == "self"
    }
    return declared | assigned


def public_methods(node: ast.ClassDef) -> set[str]:
    return {
        part.name
        for part in node.body
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name[0] != "_"
    }


def file_lines() -> dict[str, int]:
    return {
        str(path.relative_to(LAB)): len(path.read_text().splitlines()) for path in LAB.rglob("*.py")
    }


def complaints(found: Mapping[str, int], limit: int) -> list[str]:
    """What is larger than it may be."""
    return [
        f"{name}: {size}, at most {limit}: split it"
        for name, size in sorted(found.items())
        if size > limit
    ]


def test_files_of_the_lab_are_short() -> None:
    assert complaints(file_lines(), FILE_LINES) == []


def test_classes_have_few_fields() -> None:
    found = {name: len(fields(node)) for name, node in classes() if name not in MIRRORS}

    assert complaints(found, CLASS_FIELDS) == []


def test_classes_have_few_public_methods() -> None:
    found = {name: len(public_methods(node)) for name, node in classes()}

    assert complaints(found, CLASS_METHODS) == []


def test_what_mirrors_a_file_or_a_record_is_large_and_only_data() -> None:
    known = dict(classes())

    assert [name for name in MIRRORS if len(fields(known[name])) <= CLASS_FIELDS] == []
    assert [name for name in MIRRORS if not (frozen(known[name]) or parsed(known[name]))] == []


def frozen(node: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def parsed(node: ast.ClassDef) -> bool:
    """Whether it is a table of a file, as pydantic reads it."""
    return [ast.unparse(base) for base in node.bases] in (["Table"], ["Pace"])


def test_what_is_too_large_is_named() -> None:
    assert complaints({"b": 3, "a": 4, "c": 2}, 2) == [
        "a: 4, at most 2: split it",
        "b: 3, at most 2: split it",
    ]


def test_fields_and_methods_are_counted() -> None:
    (node,) = ast.parse(
        "class A:\n a: int\n b: ClassVar[int] = 1\n C = 2\n def __init__(self):\n"
        "  self.a = self._d = 1\n def e(self): ...\n @property\n def f(self): ...\n"
        " def _g(self): ...\n"
    ).body
    assert isinstance(node, ast.ClassDef)
    assert (fields(node), public_methods(node)) == ({"a", "_d"}, {"e", "f"})
