"""Who may read a store that is served, and who may not."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Served, serving
from starlette.applications import Starlette
from starlette.datastructures import Headers
from stores import write_study

from dbdyno.serve.admission import COOKIE, LOOPBACK, MOST_WRONG, Admission

OTHER = "elsewhere.test"
TOKEN = "a-token-of-many-characters"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write_study(tmp_path, "example")
    with serving(tmp_path) as there:
        yield there


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Served]:
    write_study(tmp_path, "example")
    with serving(tmp_path, token=TOKEN) as there:
        yield there


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "LOCALHOST:{}", "[::1]:{}"])
def test_names_of_loopback_are_answered(served: Served, host: str) -> None:
    assert served.get("/", Host=host.format(served.port)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.test",
        "elsewhere.test:80",
        "127.0.0.1.elsewhere.test",
        "localhost.",
        "",
        "127.0.0.1:x",
    ],
)
def test_a_foreign_host_is_refused_whatever_is_asked(served: Served, host: str) -> None:
    for path in ("/", "/api/studies", "/studies/example/", "/metrics", "/nothing"):
        answer = served.get(path, Host=host)
        assert answer.status in (400, 403)
        assert "example" not in answer.text.replace("elsewhere.test", "")


def test_two_hosts_are_none(served: Served) -> None:
    hosts = f"Host: 127.0.0.1:{served.port}\r\nHost: elsewhere.test\r\n"
    answer = served.raw(f"GET / HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", [f"http://{OTHER}", "null", "https://127.0.0.1", "file://"])
def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    assert served.get("/api/studies", Origin=origin).status == 403
    assert served.get("/api/studies/example/events", Origin=origin).status == 403


def test_the_page_s_own_origin_is_not(served: Served) -> None:
    own = f"http://127.0.0.1:{served.port}"
    assert served.get("/api/studies", Origin=own).status == 200


def test_what_another_site_embeds_is_refused_and_a_link_is_followed(served: Served) -> None:
    script = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert served.get("/api/studies", **script).status == 403
    assert served.get("/", **link).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
def test_nothing_can_be_changed(served: Served, method: str) -> None:
    for path in ("/", "/studies/example/", "/api/studies/example"):
        assert served.get(path, method).status == 405


def test_no_answer_may_be_framed_sniffed_or_kept(served: Served) -> None:
    for path in ("/", "/api/studies", "/studies/example/", "/static/live.js", "/metrics"):
        headers = {name.lower(): value for name, value in served.get(path).headers.items()}
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_without_the_token_nothing_is_told(guarded: Served) -> None:
    for path in ("/", "/api/studies", "/studies/example/", "/static/live.js", "/metrics"):
        answer = guarded.get(path)
        assert answer.status == 401
        assert "example" not in answer.text


def test_the_token_leaves_the_address_for_a_cookie(guarded: Served) -> None:
    answer = guarded.get(f"/studies/example/live?q=1&token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/studies/example/live?q=1")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert guarded.get("/", Cookie=cookie.partition(";")[0]).status == 200
    assert guarded.get("/", Authorization=f"Bearer {TOKEN}").status == 200
    assert guarded.get("/", Cookie=f"{COOKIE}=wrong").status == 401
    assert guarded.get("/", Authorization=f"Basic {TOKEN}").status == 401


def test_ten_thousand_guesses_are_all_refused_and_soon_not_even_looked_at() -> None:
    admission = Admission(Starlette(), hosts=LOOPBACK, token=TOKEN)
    host = (b"host", b"127.0.0.1")
    statuses = []
    for number in range(10_000):
        guess = secrets.token_urlsafe(8) if number % 2 else TOKEN[: number % len(TOKEN)]
        scope = {"type": "http", "path": "/", "query_string": b"", "headers": [host]}
        headers = Headers(raw=[host, (b"authorization", f"Bearer {guess}".encode())])
        refusal = admission.refusal("GET", headers, scope)
        assert refusal is not None
        statuses.append(refusal.status_code)
    assert statuses.count(401) <= 10 * MOST_WRONG
    assert set(statuses) == {401, 429}


@pytest.mark.parametrize("cookie", ["a=b; ]=;;", f"{COOKIE}=ü", f'{COOKIE}="', "x" * 5000])
def test_a_cookie_of_any_shape_is_just_wrong(guarded: Served, cookie: str) -> None:
    assert guarded.get("/", Cookie=cookie.encode().decode("latin-1")).status == 401
