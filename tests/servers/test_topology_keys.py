"""What a study says of a server's topology: read with the place in the file, or the same cell as
without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import open_study
from dbdyno.design import design_digest
from dbdyno.errors import StudyError

STUDY = """\
question = "?"

[server.one]
provision = "postgresql@system"
{keys}

[workload]
script = "kv_update"

[load]
clients = [1]
measure = "1 s"
"""
REPLICATED = 'topology = "primary-replicas"\n'
GIVEN = 'topology = "given"\nmembers = { primary = "url:postgresql://me@db/test" }'
POOLED = 'proxy = { kind = "haproxy" }'


def written(folder: Path, keys: str) -> str:
    file = folder / "study.toml"
    file.write_text(STUDY.format(keys=keys))
    return str(file)


@pytest.mark.parametrize(
    ("keys", "told", "hint"),
    [
        ('topology = "singel"', "study.toml:5: there is no topology `singel`", "single"),
        ('topology = "single"\nsetings = {}', "study.toml:6: unknown key `setings`", "settings"),
        (f'topology = "single"\n{POOLED}', "study.toml:5: `single` has no `proxy", ""),
        ('topology = "behind-proxy"', "study.toml:5: `behind-proxy` needs `proxy", ""),
        ("setings = {}", "study.toml:5: unknown key `setings` in [server.one]", "settings"),
        (
            REPLICATED + "replikas = 2",
            "study.toml:6: `primary-replicas` in [server.one]",
            "replicas",
        ),
        (REPLICATED + "replicas = 0", "study.toml:6: `primary-replicas` in", ""),
        (REPLICATED + "member.standby = {}", "study.toml:5: `primary-replicas`: `member.stan", ""),
        (REPLICATED + "member.replica.setings = {}", "study.toml:6: `primary", "settings"),
        (
            REPLICATED + "member.replica = { place = 'db-2' }",
            "study.toml:6: `primary-replicas` in [server.one]: `member.replica`: `place` can't be",
            "",
        ),
        (REPLICATED + 'replication = "sync"', "`asynchronous`, `synchronous`, not `sync`", ""),
        (REPLICATED + "confirmations = 2", "`confirmations` can be 1 at most here, not 2", ""),
        (
            'topology = "galera"',
            "study.toml:5: `galera`: its nodes are MariaDB, not `post",
            "",
        ),
        ('topology = "galera"\nnodes = 1', "study.toml:6: `galera` in [server.one]", ""),
        ('topology = "patroni"\nttl = 10', "study.toml:6: `patroni` in [server.one]", ""),
        (
            'topology = "patroni"\nttl = 20',
            "`loop_wait` and twice `retry_timeout` together may be `ttl` at most; 10 + 2 × 10",
            "",
        ),
        ('topology = "spider"', "study.toml:5: `spider`: its servers are MariaDB, not `post", ""),
        (GIVEN, "study.toml:5: `given`: its servers run already: `provision` is the URL", ""),
        (
            'topology = "given"\nmembers = { primary = "postgresql:18" }',
            "study.toml:6: `given` in [server.one]: `members.primary`: a member is named like",
            "",
        ),
        (
            REPLICATED + "member.replica.host = { cpus = { server = '0' } }",
            "study.toml:6: `host.cpus` can't be set for a member; `limits` and `filesystem` can",
            "",
        ),
        (
            REPLICATED + "member.replica.host.limits = { cpus = 0 }",
            "study.toml:6: `host.limits`: expected `cpus` from 0.01",
            "",
        ),
        ("of_topology = {}", "study.toml:5: unknown key `of_topology`", ""),
    ],
)
def test_a_wrong_topology_is_told_with_its_line(
    tmp_path: Path, keys: str, told: str, hint: str
) -> None:
    with pytest.raises(StudyError) as caught:
        open_study(written(tmp_path, keys))

    assert told in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_what_a_version_does_not_have_is_refused(tmp_path: Path) -> None:
    file = Path(written(tmp_path, REPLICATED + 'replication = "semi-synchronous"'))
    file.write_text(file.read_text().replace("postgresql@system", "mariadb:10.2.11"))

    with pytest.raises(StudyError, match=r"takes MariaDB 10.3 or newer; this is 10.2.11"):
        open_study(str(file))


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (
            "url:mariadb://me@db-2/test",
            "`members.replica-1` is `mariadb`, clients connect to `",
        ),
        ("url:postgresql://me@db-1/test", "two members have the same URL: `url:postgresql://me@db"),
        ("url:oracle://me@db-2/test", "`members.replica-1`: `oracle` is not a scheme of a server"),
    ],
)
def test_a_wrong_member_by_url_is_named(tmp_path: Path, member: str, message: str) -> None:
    first = "url:postgresql://me@db-1/test"
    keys = f'topology = "given"\nmembers = {{ primary = "{first}", replica-1 = "{member}" }}'
    file = Path(written(tmp_path, keys))
    file.write_text(file.read_text().replace("postgresql@system", first))

    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("named", "short"),
    [('topology = "single"', ""), (f'topology = "behind-proxy"\n{POOLED}', POOLED)],
)
def test_a_name_that_says_nothing_new_is_the_same_cell(
    tmp_path: Path, named: str, short: str
) -> None:
    by_name, without = (
        design_digest(open_study(written(tmp_path, keys)).study) for keys in (named, short)
    )

    assert by_name == without
