"""`check` refuses what `run` would refuse, as far as that can be known without a server process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dbdyno.cli import call

NOTHING = 'sysbench.cmdline.options = { table_size = {"Rows", 1} }\nfunction prepare() end\n'


@pytest.fixture(autouse=True)
def here(study_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study's file, with a script that the real engine knows all about."""
    monkeypatch.chdir(study_file.parent)
    (study_file.parent / "nothing.lua").write_text(f"{NOTHING}function event() end\n")
    return study_file


def test_a_study_that_can_run_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["check", "example.toml", "--servers"]) == 0
    told = capsys.readouterr().out
    assert "Does it matter?" in told
    assert not list(Path.cwd().glob("absent*"))


def test_a_machine_that_lacks_something_is_told_and_not_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = 'needs = { cores = 99_999, memory = "900 TB", disk = "901 TB", also = "tape" }\n'
    here.write_text(needs + here.read_text())

    assert call(["check", "example.toml"]) == 0

    told = capsys.readouterr().out
    assert "\nneeds    99999 cores, 900 TB of memory, tape; " in told
    assert " here: too few cores, too little memory\n" in told
    assert re.search(r"\ndisk     about 901 TB at a time; .* are free: too little\n", told)
    assert call(["check", "example.toml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lacks"] == ["cores", "memory", "disk"]
    assert document["needs"]["memory_bytes"] == 900 << 40
    assert document["machine"]["cores"] >= 1


def test_a_search_says_how_many_probes_it_takes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = '{ p50 = "10 ms", from = 100, to = 3200, precision = "20 %" }'
    text = here.read_text().replace("clients = [1, 4]", f"clients = 4\nfind_max = {table}")
    here.write_text(text.replace('measure = "1 s"', 'measure = "4 s"\nwarm_up = "1 s"'))

    assert call(["check", "example.toml"]) == 0

    told = capsys.readouterr().out
    assert "4 clients, the highest rate with p50 ≤ 10 ms; warm-up 1 s, measured 4 s" in told
    # Five doublings, two halvings; half of the doublings and a repeated miss are usual.
    assert "from 100 to 3,200 events/s, to 20 %; about 10 probes a run, at most 24" in told
    assert "one by one: each cell is searched at rates of its own" in told
    assert call(["check", "example.toml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["probes"] == {"usual": 10, "most": 24}
    assert document["time_s"] > 2 * 10 * 5


def test_what_changes_nothing_outside_of_turns_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = '[design]\norder = "runs"\nreconnect = 4\nfreeze = true\n'
    here.write_text(here.read_text().replace("[design]\n", asked))

    assert call(["check", "example.toml"]) == 0

    told = capsys.readouterr().out
    assert "one by one; no effect outside of turns: `reconnect`, `freeze`" in told


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        (
            "table_size = 10",
            "tabel_size = 10",
            2,
            "example.toml:12: {here}/nothing.lua has no option `tabel_size`",
        ),
        ("table_size = 10", 'table_size = "x"', 2, "option `table_size` is `x`; expected a number"),
        (
            'journal_mode = "wal"',
            'jornal_mode = "wal"',
            4,
            "example.toml:8: sqlite has no setting `jornal_mode`",
        ),
        ('journal_mode = "wal"', 'journal_mode = "wall"', 4, "journal_mode"),
        (
            'measure = "1 s"',
            'measure = "1 s"\narrival = { kind = "replay", file = "times" }',
            2,
            "cannot read the times to replay, {here}/times",
        ),
        (
            'measure = "1 s"',
            'measure = "1 s"\narrival = { kind = "steps", steps = [["0 s", 5]] }',
            2,
            "a step's duration is 0; expected a number above 0",
        ),
        (
            'measure = "1 s"',
            'measure = "1 s"\narrival = { kind = "ramp", from = 1, to = 2, over = "0 s" }',
            2,
            "over_s is 0",
        ),
        ("clients = [1, 4]", "clients = 1_000_000", 6, "open files of the engine"),
        ('script = "nothing"', 'script = "broken"', 3, "broken.lua:1"),
        ('script = "nothing"', 'script = "empty"', 2, "has no `prepare`"),
    ],
)
def test_what_run_would_refuse_check_refuses(
    here: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, said: str
) -> None:
    (here.parent / "broken.lua").write_text("function event( end")
    (here.parent / "empty.lua").write_text("function event() end")
    assert old in here.read_text()
    here.write_text(here.read_text().replace(old, new, 1))
    # What only the script can say needs its code.
    is_of_script = "script" in old or "table_size" in old
    for more in [["--run-code"]] if is_of_script else [[], ["--run-code"]]:
        assert call(["check", "example.toml", *more]) == code
        told = capsys.readouterr()
        assert told.out == ""
        assert said.format(here=here.parent) in told.err.replace("\n  ", " ")
        assert told.err.count("\nerror: ") + told.err.startswith("error: ") == 1


def test_a_file_that_holds_no_times_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here.parent / "times").write_text("1.5\nsoon\n")
    more = 'measure = "1 s"\narrival = { kind = "replay", file = "times" }'
    here.write_text(here.read_text().replace('measure = "1 s"', more))
    assert call(["check", "example.toml"]) == 2
    assert "soon" in capsys.readouterr().err


def test_a_level_that_can_not_be_applied_here_is_told_and_no_error(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = '{ command = { apply = ["no-such-program"], undo = ["true"] } }'
    text = here.read_text()
    wal = 'settings = { journal_mode = "wal" }'
    here.write_text(text.replace(wal, f"{wal}, host = {asks}"))

    assert call(["check", "example.toml"]) == 0
    lacks = "host.command: there is no program `no-such-program`"
    assert f"left out: `lite, wal`, since {lacks}\n" in capsys.readouterr().out
    assert call(["check", "example.toml", "--json"]) == 0
    (left_out,) = json.loads(capsys.readouterr().out)["left_out"]
    assert left_out["missing"][0]["what"] == lacks

    here.write_text(here.read_text().replace('journal = "delete" }', 'journal = "wal" }'))
    assert call(["check", "example.toml"]) == 6
    assert "the baseline (`wal`) can't be run here" in capsys.readouterr().err


def test_all_that_is_wrong_is_told_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = here.read_text().replace("table_size", "tabel_size")
    here.write_text(text.replace('journal_mode = "wal"', 'jornal_mode = "wal"'))
    assert call(["check", "example.toml", "--run-code"]) == 4
    told = capsys.readouterr().err
    assert "2 problems would stop this study:" in told
    assert "`tabel_size`" in told
    setting, hint = told[told.index("sqlite has no setting") :].splitlines()[:2]
    assert "`jornal_mode`" in setting
    assert hint == "    hint: did you mean `journal_mode`?", "each below its own problem"


def test_a_setting_that_dbdyno_makes_itself_is_refused_without_the_server(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = here.read_text().replace('"sqlite"', '"postgresql:18.0.0"')
    here.write_text(text.replace('journal_mode = "wal"', 'port = "1"'))
    assert call(["check", "example.toml"]) == 4
    assert "`port` is set by dbdyno itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ('"nothing"', f'"{"x" * 5000}"', 3, "there is no script `xxx"),
        ('"nothing"', '"a\\u0000b"', 3, "there is no script"),
        ("delete = {", f"{'d' * 300} = {{", 2, "the names of a cell's levels have 301 characters"),
    ],
)
def test_names_that_no_file_can_have_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, said: str
) -> None:
    text = here.read_text().replace(old, new, 1)
    here.write_text(text.replace('{ journal = "delete" }', "{}"))
    assert call(["check", "example.toml"]) == code
    assert said in capsys.readouterr().err


def test_a_study_that_an_editor_has_marked_is_read(here: Path) -> None:
    here.write_bytes(b"\xef\xbb\xbf" + here.read_bytes())
    assert call(["check", "example.toml"]) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "is not UTF-8 text: invalid start byte at byte 0"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
    ],
)
def test_what_is_no_text_is_no_study(
    here: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    here.write_bytes(content)
    assert call(["check", "example.toml"]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_is_no_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["check", "."]) == 2
    assert ". is a folder" in capsys.readouterr().err


def test_an_empty_file_holds_nothing_to_replay(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here.parent / "times").write_text("\n")
    more = 'measure = "1 s"\narrival = { kind = "replay", file = "times" }'
    here.write_text(here.read_text().replace('measure = "1 s"', more))
    assert call(["check", "example.toml"]) == 2
    assert "times contains no time to replay" in capsys.readouterr().err


@pytest.mark.slow
def test_each_server_is_started_with_its_settings(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = here.read_text().replace('"sqlite"', '"postgresql:18.0.0"')
    text = text.replace('journal_mode = "delete"', 'work_mem = "8MB"')
    here.write_text(text.replace('journal_mode = "wal"', 'work_mem = "16MB"'))
    assert call(["check", "example.toml", "--servers", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["version"].split()[0] for one in document["started"]] == ["18.0", "18.0"]

    here.write_text(here.read_text().replace('work_mem = "16MB"', 'wrok_mem = "16MB"'))
    assert call(["check", "example.toml"]) == 0
    assert call(["check", "example.toml", "--servers"]) == 4
    assert "`wrok_mem`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("provision", "driver"),
    [("sqlite", "sqlite"), ("mysql:5.6.14", "mysql"), ("postgresql:18.0.0", "pgsql")],
)
def test_a_script_is_read_as_for_its_own_server(
    here: Path, capsys: pytest.CaptureFixture[str], provision: str, driver: str
) -> None:
    only = f'assert(sysbench.sql.driver():name() == "{driver}", "another server")\n'
    (here.parent / "nothing.lua").write_text(
        f"{NOTHING}function thread_init() {only} end\nfunction event() end\n"
    )
    text = here.read_text()
    here.write_text(text.replace('provision = "sqlite"', f'provision = "{provision}"'))

    assert call(["check", "example.toml"]) == 0, capsys.readouterr().err


def test_functions_in_c_are_for_servers_that_take_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = 'provision = "sqlite"\nc_functions = ["stamp.c"]'
    here.write_text(here.read_text().replace('provision = "sqlite"', named))

    assert call(["check", "example.toml"]) == 2
    assert "there is no file in C `stamp.c`" in capsys.readouterr().err
    (here.parent / "stamp.c").write_text("int x;")
    assert call(["check", "example.toml"]) == 4
    assert "`sqlite` takes no functions in C" in capsys.readouterr().err


def test_what_downloads_a_server_is_told_if_it_is_missing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write_text(here.read_text().replace('"sqlite"', '"postgresql:14.20.0@maven"'))
    monkeypatch.setenv("DBDYNO_CACHE", str(here.parent / "cache"))
    monkeypatch.setenv("PATH", str(here.parent))

    assert call(["check", "example.toml"]) == 4
    told = capsys.readouterr().err
    assert "Maven (`mvn`) is needed to download" in told
    assert "hint: `apt-get install maven`" in told


def test_a_missing_compiler_is_told_with_its_cure(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.parent / "stamp.c").write_text("int x;")
    named = 'provision = "postgresql:18.4@wheel"\nc_functions = ["stamp.c"]'
    here.write_text(here.read_text().replace('provision = "sqlite"', named))
    monkeypatch.setenv("PATH", str(here.parent))

    assert call(["check", "example.toml"]) == 6
    told = capsys.readouterr().err
    assert "functions in C need a compiler" in told
    assert "apt-get install gcc" in told


def test_load_hosts_are_named_with_what_each_needs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = 'clients = [2, 500]\nhosts = ["load-1", "load-2"]'
    text = here.read_text().replace("clients = [1, 4]", hosts)
    here.write_text(f'{text}\n[places]\nray = "10.0.0.1:6379"\n')

    assert call(["check", "example.toml"]) == 0

    shown = capsys.readouterr().out
    assert "\nhosts    2 of the Ray cluster `10.0.0.1:6379`: load-1, load-2\n" in shown
    assert "on each up to 250 clients" in shown
    assert "`dbdyno doctor --places 10.0.0.1:6379`" in shown
    assert call(["check", "example.toml", "--json"]) == 0
    share = json.loads(capsys.readouterr().out)["hosts"]
    assert share["names"] == ["load-1", "load-2"]
    assert (share["clients"], share["processes"]) == (250, 1)
    assert share["open_files"] > 250


@pytest.mark.parametrize("part", ["cpus = { client = [0] }", "limits.client = { cpus = 0.5 }"])
def test_a_start_of_this_machine_s_clients_is_refused_beside_load_hosts(
    here: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    text = here.read_text().replace("clients = [1, 4]", "clients = 4\nhosts = 2")
    here.write_text(f"{text}\n[host]\n{part}\n")

    assert call(["check", "example.toml"]) == 2

    assert "they are on load hosts" in capsys.readouterr().err
