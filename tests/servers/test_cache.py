"""The cache of downloads: whole or not at all, once, and checked."""

import base64
import hashlib
import json
import multiprocessing
import stat
from pathlib import Path

import pytest

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.errors import ServerError
from dbdyno.servers.sources import cache, maven, wheel
from dbdyno.servers.sources.cache import Archive

ARCHIVE = Archive("package==1", "package.whl", "00", "RECORD")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def fetch(content: Path, _: Path) -> Archive:
    (content / "program").write_text("1")
    return ARCHIVE


def count_fetch(folder: Path) -> None:
    def fetch_and_count(content: Path, scratch: Path) -> Archive:
        with (folder / "fetched").open("a") as file:
            file.write("x")
        return fetch(content, scratch)

    cache.find_or_fetch("wheel/package", fetch_and_count)


def test_what_was_fetched_is_found_again(folder: Path) -> None:
    fetched = cache.find_or_fetch("wheel/package", fetch)

    assert cache.find("wheel/package") == fetched
    assert fetched.archive == ARCHIVE
    assert (fetched.folder / "program").read_text() == "1"


def test_several_at_once_fetch_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=count_fetch, args=(tmp_path,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert (tmp_path / "fetched").read_text() == "x"


def test_a_failed_fetch_leaves_nothing_and_is_tried_again(folder: Path) -> None:
    def fail(content: Path, _: Path) -> Archive:
        (content / "program").write_text("half")
        raise ServerError("no network")

    with pytest.raises(ServerError, match="no network"):
        cache.find_or_fetch("wheel/package", fail)

    assert [path.name for path in (folder / "wheel").iterdir()] == ["package.lock"]
    assert cache.find_or_fetch("wheel/package", fetch).archive == ARCHIVE


def test_what_a_killed_fetch_left_is_removed(folder: Path) -> None:
    abandoned = folder / "wheel" / "package.partial-killed"
    abandoned.mkdir(parents=True)

    cache.find_or_fetch("wheel/package", fetch)

    assert not abandoned.exists()


def test_other_users_can_read_it(folder: Path) -> None:
    def fetch_privately(content: Path, _: Path) -> Archive:
        program = content / "program"
        program.write_text("1")
        program.chmod(0o700)
        return ARCHIVE

    found = cache.find_or_fetch("wheel/package", fetch_privately)

    assert stat.S_IMODE((found.folder / "program").stat().st_mode) == 0o744
    assert stat.S_IMODE(found.folder.stat().st_mode) == 0o755


def test_a_damaged_manifest_is_named(folder: Path) -> None:
    cached = cache.find_or_fetch("wheel/package", fetch)
    (cached.folder.parent / "manifest.json").write_text("{}")

    with pytest.raises(ServerError, match=r"no readable manifest\.json"):
        cache.find("wheel/package")


def test_a_file_that_differs_from_its_wheel_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package-1.dist-info").mkdir()
    (tmp_path / "program").write_bytes(b"good")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"good").digest()).rstrip(b"=").decode()
    record = tmp_path / "package-1.dist-info" / "RECORD"
    record.write_text(f"program,sha256={digest},4\npackage-1.dist-info/RECORD,,\n")

    assert wheel.verify("package==1", tmp_path) == 1
    (tmp_path / "program").write_bytes(b"evil")
    with pytest.raises(ServerError, match="its RECORD says"):
        wheel.verify("package==1", tmp_path)


def test_a_wheel_without_checksums_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="ships no checksums"):
        wheel.verify("package==1", tmp_path)


def test_a_jar_that_differs_from_its_checksum_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = tmp_path / ".m2" / "repository" / "org" / "example" / "server" / "1"
    kept.mkdir(parents=True)
    jar = tmp_path / "server-1.jar"
    jar.write_bytes(b"evil")
    (kept / "server-1.jar.sha1").write_text(hashlib.sha1(b"good").hexdigest())

    with pytest.raises(ServerError, match="the one shipped with it is"):
        maven.verify("org.example:server:1", jar)


def test_a_missing_client_is_said_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ServerError, match="is not installed") as caught:
        maven.fetch("org.example:server:1", tmp_path, tmp_path)

    assert "apt-get install maven" in (caught.value.hint or "")


def test_what_a_later_version_keeps_besides_is_passed_over(folder: Path) -> None:
    fetched = cache.find_or_fetch("wheel/package", fetch)
    manifest = fetched.folder.parent / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "colour": "green"}))

    assert cache.find("wheel/package") == fetched
