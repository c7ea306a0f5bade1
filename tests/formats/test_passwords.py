"""Passwords stay out of what is shown and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import ServerError, StudyError
from dbdyno.formats.passwords import (
    is_badly_encoded,
    without_password,
    without_passwords,
    words_without_passwords,
)
from dbdyno.formats.study import read_study
from dbdyno.servers import parse_provision


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://bob:S3cretPW@h:1/d", "postgresql://bob@h:1/d"),
        ("mysql://bob:S3%40cretPW@h1,h2:3306/d", "mysql://bob@h1,h2:3306/d"),
        ("mysql://bob:S3cretPW@/d?socket=/a:b@c", "mysql://bob@/d?socket=/a:b@c"),
        ("postgresql://:S3cretPW@h/d", "postgresql://@h/d"),
        ("postgresql://bob:S3cret/PW@h/d", "postgresql://bob@h/d"),
        ("postgresql://bob:S3?cret#PW@h/d", "postgresql://bob@h/d"),
        ("postgresql://bob:S3c@ret:P@W@h/d", "postgresql://bob@h/d"),
        ("postgresql:///d?host=/s&password=S3cretPW", "postgresql:///d?host=/s"),
        ("postgresql:///d?password=S3cretPW&port=1", "postgresql:///d?port=1"),
        ("postgresql:///d?%70assword=S3cretPW", "postgresql:///d"),
        ("postgresql://h/d?sslpassword=S3cretPW", "postgresql://h/d"),
        ("postgres://bob:S3cretPW@h/d", "postgres://bob@h/d"),
        ("PostgreSQL://Bob:S3cretPW@h/d", "PostgreSQL://Bob@h/d"),
        ("mariadb://bob:S3cretPW@[::1]:3306/d", "mariadb://bob@[::1]:3306/d"),
        ("mongodb+srv://bob:S3cretPW@h/", "mongodb+srv://bob@h/"),
        ("postgresql://b%3Ab:S3cretPW@h/d#x", "postgresql://b%3Ab@h/d#x"),
        ("postgresql://bob@x:S3cretPW@h/d", "postgresql://bob@x@h/d"),
        ("jdbc:postgresql://h/d?user=b&Password=S3cretPW", "jdbc:postgresql://h/d?user=b"),
        ("jdbc:mysql://h/d?password=S3cretPW&x=1", "jdbc:mysql://h/d?x=1"),
        ("jdbc:sqlserver://h;user=b;password=S3cretPW;x=1", "jdbc:sqlserver://h;user=b;x=1"),
        ("mysql://h/d?MYSQL_PWD=S3cretPW", "mysql://h/d"),
        ("mysql://h/d?x=1&ssl-key-password=S3cretPW", "mysql://h/d?x=1"),
        ("postgresql://h/d?ssl_passphrase=S3cretPW&x=1", "postgresql://h/d?x=1"),
        ("postgresql://h/d?scram_client_key=S3cretPW", "postgresql://h/d"),
        ("postgresql://h/d?passfile=/x", "postgresql://h/d?passfile=/x"),
        ("postgresql://bob@h:1/d?x=a@b", "postgresql://bob@h:1/d?x=a@b"),
        ("postgresql://bob@h:1/d?port=5", "postgresql://bob@h:1/d?port=5"),
        ("sqlite:///x.db?journal_mode=wal", "sqlite:///x.db?journal_mode=wal"),
        ("null:", "null:"),
    ],
)
def test_a_url_is_told_without_its_password(url: str, told: str) -> None:
    if "?socket" in url:
        told = without_password(url)  # whatever precedes the last `@`
        assert "S3cret" not in told
    assert without_password(url) == told
    assert without_password(told) == told
    assert "S3c" not in without_passwords(f"a '{url}' b")


NO_PASSWORDS = (
    "Access denied for user 'u'@'h' (using password: YES)",
    "Access denied for user 'u'@'h' (using password: NO)",
    "psql -p 5432 -U u; pgbench -p5432 -c 4",
    "mysql -u root -p test",
    "mysqld -P 3306 --port=3306",
    "mkdir -p /data/mysql",
    "ycsb load jdbc -p recordcount=1000",
    "require_auth=scram-sha-256",
    "tokens=5",
    "5 tokens: 7",
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x postgresql://b:S3@h/d y mysql://c:S4@i/e", "x postgresql://b@h/d y mysql://c@i/e"),
        ("sysbench --mysql-password=S3cretPW run", "sysbench --mysql-password=*** run"),
        ("host=h password='a b' user=u", "host=h password='***' user=u"),
        ("host=h password = S3cretPW user=u", "host=h password = *** user=u"),
        ("password='S3''cret' x", "password='***' x"),
        ("password='S3\\'cret' x", "password='***' x"),
        ("password=S3\\ cret x", "password=*** x"),
        ('password="S3 cret" x', 'password="***" x'),
        ('{"password": "S3cretPW", "a": 1}', '{"password": "***", "a": 1}'),
        ("password: S3cretPW\nuser: u", "password: ***\nuser: u"),
        ("MYSQL_PWD=S3cretPW mysql", "MYSQL_PWD=*** mysql"),
        ("PGPASSWORD=S3cretPW psql", "PGPASSWORD=*** psql"),
        ("mysql --password S3cretPW -u x", "mysql --password *** -u x"),
        ("Server=h;Uid=u;Pwd=S3cretPW;", "Server=h;Uid=u;"),
        ("CREATE USER u IDENTIFIED BY 'S3cretPW'", "CREATE USER u IDENTIFIED BY '***'"),
        ("ALTER ROLE u PASSWORD 'S3cretPW'", "ALTER ROLE u PASSWORD '***'"),
        ("spring.datasource.password=S3cretPW", "spring.datasource.password=***"),
        ("(mysql://u:S3cret'PW@h/d)", "(mysql://u@h/d)"),
        ("mysql -uroot -pS3cret test", "mysql -uroot -p*** test"),
        ("/usr/bin/mariadb-dump -p'S3 cret' d", "/usr/bin/mariadb-dump -p'***' d"),
        ("mysqladmin -pS3'cre't ping", "mysqladmin -p*** ping"),
        ("mysqlslap -p12345 -c 5", "mysqlslap -p*** -c 5"),
        ("tpcc_start -u root -p S3cret -w 10", "tpcc_start -u root -p *** -w 10"),
        ("mongosh -u x -p S3cret", "mongosh -u x -p ***"),
        ("redis-benchmark -a S3cret -c 5", "redis-benchmark -a *** -c 5"),
        ("memtier_benchmark --authenticate=S3cret", "memtier_benchmark --authenticate=***"),
        ("REDISCLI_AUTH=S3cret redis-cli", "REDISCLI_AUTH=*** redis-cli"),
        ("curl -u bob:S3cret h", "curl -u *** h"),
        ("diset connection mysql_pass S3cret", "diset connection mysql_pass ***"),
        ("diset tpcc pg_superuserpass S3cret", "diset tpcc pg_superuserpass ***"),
        ("mysql_pass = S3cret", "mysql_pass = ***"),
        ("bench --token S3cret", "bench --token ***"),
        ("token=S3cret", "token=***"),
        ('{"access_token": "S3cret"}', '{"access_token": "***"}'),
        ("Authorization: Bearer S3cret", "Authorization: Bearer ***"),
        ("api_key: S3cret", "api_key: ***"),
        ("SET PASSWORD FOR u = PASSWORD('S3cret')", "SET PASSWORD FOR u = PASSWORD('***')"),
        ("IDENTIFIED WITH p AS 'S3cret'", "IDENTIFIED WITH p AS '***'"),
        ("using password: S3cret", "using password: ***"),
        *((text, text) for text in NO_PASSWORDS),
        ("a password is wrong", "a password is wrong"),
        ("nothing: to@hide", "nothing: to@hide"),
    ],
)
def test_a_text_is_told_without_any(text: str, told: str) -> None:
    assert without_passwords(text) == told


@pytest.mark.parametrize("password", ["a/b", "a?b", "a#b", "1/2", "/"])
def test_a_password_that_ends_its_own_place_is_refused(password: str) -> None:
    url = f"postgresql://bob:{password}@h/d"
    assert is_badly_encoded(url)
    with pytest.raises(
        ServerError, match="its password holds a character that must be percent-encoded"
    ) as raised:
        parse_provision(f"url:{url}")
    assert f":{password}@" not in raised.value.message + str(raised.value.hint)
    assert not is_badly_encoded("postgresql://bob:a%2Fb@h1:1,h2:2/d")


def test_a_command_line_is_told_without_any() -> None:
    words = [
        "dbdyno",
        "--password",
        "S3 cret",
        "--token=S3",
        "-c",
        "5",
        "--pwd",
        "-x",
        "mysql://u:S3@h/d",
    ]
    told = ["dbdyno", "--password", "***", "--token=***", "-c", "5", "--pwd", "-x", "mysql://u@h/d"]
    assert words_without_passwords(words) == told


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (["mysqlslap", "-uroot", "-pS3 cret", "-c", "5"], "mysqlslap -uroot -p*** -c 5"),
        (["env", "A=1", "/usr/bin/mysqlslap", "-pS3"], "env A=1 /usr/bin/mysqlslap -p***"),
        (["tpcc_start", "-u", "x", "-p", "S3 cret", "-w", "1"], "tpcc_start -u x -p *** -w 1"),
        (["redis-benchmark", "-a", "S3", "-c", "5"], "redis-benchmark -a *** -c 5"),
        (["mysql", "-u", "root", "-p", "test"], "mysql -u root -p test"),
        (["pgbench", "-p", "5432", "-c", "4"], "pgbench -p 5432 -c 4"),
    ],
)
def test_short_options_of_known_programs_are_shown_without(line: list[str], shown: str) -> None:
    assert " ".join(words_without_passwords(line)) == shown


def test_a_long_text_takes_no_time() -> None:
    for text in (
        "mysql " + "-p" * 9000,
        "mysql " * 9000,
        "redis -a " * 3000,
        "mysql -p'" + "\\'" * 9000,
        "a" * 9000,
        "-" * 9000,
        "x://" + "a@" * 9000,
        "password=" + "'" * 9999,
    ):
        assert len(without_passwords(text)) > 0


STUDY = """\
question = "q?"  # measured on postgresql://bob:S3cretPW@127.0.0.1:1/d
primary = {{ metric = "throughput", better = "higher", smallest_effect = "5 %" }}
[server.pg]
provision = {provision}
[workload]
script = "kv_update"
options = {{ tables = 1 }}
[load]
clients = [1]
measure = "1 s"
"""


def test_a_study_is_parted_from_its_passwords(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    url = "url:postgresql://bob:S3cretPW@127.0.0.1:1/d"
    file.write_text(STUDY.format(provision=f'"{url}"'))
    loaded = read_study(file)
    assert "S3cret" not in repr(loaded.study)
    (level,) = loaded.study.factors[0].levels
    assert level.provision == "url:postgresql://bob@127.0.0.1:1/d"
    assert loaded.secrets == {level.provision: url}
    assert 'provision = "url:postgresql://bob@127.0.0.1:1/d"' in loaded.study.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            STUDY.format(provision='"url:postgresql://bob\\u003aS3cretPW@127.0.0.1/d"'),
            "written with escapes",
        ),
        (
            STUDY.format(provision='"url:postgresql://bob:S3cretPW@h/d"')
            + '[server.two]\nprovision = "url:postgresql://bob:other@h/d"\n',
            "differ only in the password",
        ),
        (
            STUDY.format(provision='"sqlite"').replace(
                "tables = 1", 'url = "mysql://bob:S3cretPW@h/d"'
            ),
            "an option holds a URL with a password",
        ),
        *(
            (
                STUDY.format(provision='"sqlite"').replace("tables = 1", f'{name} = "S3cretPW"'),
                f"option `{name}` holds a password",
            )
            for name in ("password", "db_password", "PGPASSWORD", "mysql-pwd", "PASSWD")
        ),
    ],
)
def test_a_password_that_can_not_be_kept_out_is_refused(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(StudyError, match=said) as raised:
        read_study(file)
    assert "S3cret" not in f"{raised.value.message} {raised.value.hint}"
    if "option" in said:
        assert text.splitlines()[(raised.value.line or 0) - 1].startswith("options")
