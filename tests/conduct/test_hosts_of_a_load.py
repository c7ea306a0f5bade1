"""What a study says of load hosts, and what can't hold of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import open_study
from dbdyno.conduct.load_hosts import require_no_start_of_its_own
from dbdyno.errors import StudyError, UsageError
from dbdyno.guard.launch import Launch

STUDY = """\
question = "How much do several hosts load?"
[server.null]
provision = "null"
[workload]
script = "oltp_point_select"
[load]
clients = [4, 64]
measure = "1 s"
{}
"""


@pytest.mark.parametrize(
    ("keys", "line", "message"),
    [
        ("hosts = 0", 9, "expected a number of load hosts from 1 to 1,000, or a list"),
        ('hosts = ["a", "a"]', 9, "a host is named twice"),
        ("hosts = 5", 9, "a step of 4 clients can't be shared out to 5 engine processes"),
        ('[places]\nray = "auto"', 9, "says where load hosts are, and there are none"),
        (
            "hosts = 3\n[load.group.beside]\nclients = 2\n"
            'arrival = { kind = "constant", rate = 5 }',
            11,
            "group `beside` has a rate and 2 clients: too few for 3 engine processes",
        ),
        ('hosts = 2\n[places]\nray = "ray:x"', 11, 'expected "auto", "ray://HOST:PORT"'),
    ],
)
def test_what_can_not_be_is_refused_with_its_line(
    tmp_path: Path, keys: str, line: int, message: str
) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(STUDY.format(keys))

    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert caught.value.message.startswith(f"{file}:{line}: ")
    assert message in caught.value.message


def test_settings_of_this_machine_s_clients_are_refused_where_clients_are_elsewhere() -> None:
    require_no_start_of_its_own(Launch())
    with pytest.raises(UsageError, match="they are on load hosts"):
        require_no_start_of_its_own(Launch(cpus=(0,)))
