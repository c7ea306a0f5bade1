"""What a study's headline speaks of: its forms, and that every name is held against the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import StudyError
from dbdyno.formats.study import read_study
from dbdyno.model import Lead

TEXT = """\
question = "What does it cost?"
leads = {}

[server.lite]
provision = "sqlite"

[factor.journal]
delete = {{ settings = {{ journal_mode = "delete" }} }}
wal = {{ settings = {{ journal_mode = "wal" }}, most_clients = 8 }}

[factor.access]
reads = {{ options = {{ writes = 0 }} }}
writes = {{ options = {{ writes = 1 }} }}

[workload]
script = "kv_update"

[load]
clients = [1, 8, 64]
measure = "2 s"

[design]
baseline = {{ journal = "delete" }}

[scale.small]
design.levels = {{ access = ["reads"] }}
load.clients = [1, 8]
"""


def leads(folder: Path, value: str, more: str = "", scale: str | None = None) -> tuple[Lead, ...]:
    file = folder / "example.toml"
    file.write_text(TEXT.format(value) + more)
    return read_study(file, scale=scale).study.leads


def test_one_or_several_are_named_and_scales_have_their_own(tmp_path: Path) -> None:
    cell = '{ cell = { journal = "wal" }, clients = 8 }'
    assert leads(tmp_path, cell) == (Lead(cell={"journal": "wal"}, clients=8),)
    several = f'[{cell}, {{ factor = "journal", level = "wal" }}, {{ curve = true }}]'
    assert leads(tmp_path, several) == (
        Lead(cell={"journal": "wal"}, clients=8),
        Lead(factor="journal", level="wal"),
        Lead(curve=True),
    )
    own = "leads.clients = 1\n"
    assert leads(tmp_path, cell, own, "small") == (Lead(cell={"journal": "wal"}, clients=1),)


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ('{ cell = { jurnal = "wal" } }', "names a factor `jurnal`; there are", "`journal`?"),
        ('{ cell = { journal = "wall" } }', "factor `journal` has no level `wall`", "`wal`?"),
        ("{ clients = 16 }", "names 16 clients; `load.clients` has 1, 8, 64", None),
        (
            '{ cell = { journal = "wal" }, clients = 64 }',
            "`wal` has 8 clients at most, not 64",
            None,
        ),
        ('{ factor = "jurnal", level = "wal" }', "names a factor `jurnal`", "`journal`?"),
        ('{ factor = "journal", level = "wall" }', "has no level `wall`", "`wal`?"),
        (
            '{ factor = "access", level = "writes" }',
            "`baseline` names no level of the factor `access`",
            "`journal`",
        ),
        ('{ factor = "journal", level = "delete" }', "is the baseline's own level", None),
        ('{ factor = "journal" }', "takes both, `factor` and `level`", None),
        ('{ levels = ["wal"] }', "`levels` is a list over a `factor`", None),
        (
            '{ factor = "journal", level = "wal", levels = ["wal"] }',
            "`levels` is a list over a `factor`, and takes no `level`",
            None,
        ),
        ('{ factor = "journal", levels = ["wall"] }', "has no level `wall`", "`wal`?"),
        (
            '{ factor = "journal", levels = ["wal"] }',
            "`levels` lists shares, and `throughput` is none",
            'level = "wal"',
        ),
        ('{ cell = { journal = "wal" }, factor = "journal", level = "wal" }', "no `cell`", None),
        ("{ curve = true, clients = 8 }", "takes no `clients`", None),
        ('{ curve = true, name = "Its end" }', "takes no `name`", None),
        ("{}", "expected `cell`, `clients`, `factor` and `level`, or `curve = true`", None),
        ('{ cel = { journal = "wal" } }', "unknown key `cel`", "`cell`?"),
        (f"[{', '.join(5 * ['{ clients = 8 }'])}]", "at most 4 items", None),
    ],
)
def test_what_cannot_lead_is_refused_with_its_line(
    tmp_path: Path, value: str, message: str, hint: str | None
) -> None:
    with pytest.raises(StudyError) as caught:
        leads(tmp_path, value)

    assert "example.toml:2: " in caught.value.message
    assert message in caught.value.message
    assert hint is None or hint in str(caught.value.hint)


def test_a_scale_that_does_not_run_it_is_told_to_have_its_own(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        leads(tmp_path, '{ cell = { access = "writes" } }')

    assert "level `writes`, which scale `small` does not run" in caught.value.message
    assert caught.value.hint == "give it its own: scale.small.leads"
    own = 'leads.cell.access = "reads"\n'
    assert leads(tmp_path, '{ cell = { access = "writes" } }', own, "small") == (
        Lead(cell={"access": "reads"}),
    )


def test_the_line_is_that_of_the_scale_which_names_it(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"example\.toml:2: .*names 64 clients"):
        leads(tmp_path, "{ clients = 64 }")
    with pytest.raises(StudyError, match=r"example\.toml:28: .*names 7 clients"):
        leads(tmp_path, "{ clients = 8 }", "leads.clients = 7\n")


def test_a_curve_needs_loads_and_shares_have_no_factor_by_itself(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="`curve` needs several loads"):
        leads(tmp_path, "{ curve = true }", "[scale.one]\nload.clients = 8\n")
    shares = 'leads = { factor = "journal", level = "wal" }\nprimary = { metric = "wrong_share" }'
    file = tmp_path / "example.toml"
    file.write_text(TEXT.format("{}").replace("leads = {}", shares))
    with pytest.raises(StudyError, match="compared cell by cell") as caught:
        read_study(file)
    assert caught.value.hint == 'cell = { journal = "wal" }'
