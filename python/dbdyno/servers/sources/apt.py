"""Another suite of the distribution, asked by a private configuration of apt.

Lists, status and downloads lie in folders of ours: nothing is installed, and this machine's own
lists stay as they are. Signatures are checked against the distribution's archive keyring. Of the
machine's settings only those of its network are taken over (`Acquire::http…`): its hooks are for
its own packages.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.cache import CACHE_VARIABLE, cache_folder
from dbdyno.errors import ServerError
from dbdyno.servers.sources.client import Progress, run_client

MOVING = ("sid", "experimental")
"""Suites whose versions go when newer ones come; their lists may be older than they promise."""
MIRROR_VARIABLE = "DBDYNO_DEBIAN_MIRROR"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_LISTS_AGE_LIMIT_S = 24 * 3600
_NETWORK = re.compile(r"Acquire::(https?|Retries|ForceIPv[46])\b")
_FILE = re.compile(r"'(?P<uri>[^']+)' (?P<name>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})")
_NEEDLESS = (
    "adduser",
    "debconf",
    "dpkg",
    "init-system-helpers",
    "libpam-runtime",
    "lsb-base",
    "lsof",
    "passwd",
    "perl",
    "postgresql-client-common",
    "postgresql-common",
    "psmisc",
    "python3",
    "rsync",
    "ssl-cert",
    "sysvinit-utils",
    "ucf",
)
"""What packages depend on for their installation or for what no run does: taken as given."""


@dataclass(frozen=True, slots=True)
class Deb:
    """A file that is needed."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite, by its name in the archive; its lists are kept in the cache."""

    name: str

    @property
    def _folder(self) -> Path:
        return cache_folder() / "debian-lists" / self.name

    @property
    def catalogue(self) -> Path:
        """A file for what was found in its lists, kept beside them."""
        return self._folder / "versions.json"

    @property
    def _stamp(self) -> Path:
        return self._folder / "updated"

    def _is_fresh(self) -> bool:
        stamp = self._stamp
        return stamp.exists() and time.time() - stamp.stat().st_mtime < _LISTS_AGE_LIMIT_S

    def update(self, progress: Progress | None = None) -> None:
        """Gets its lists, unless they were got within a day.

        # Errors
        `ServerError` without apt, a mirror or keys, or when the mirror does not answer.
        """
        with self._locked():
            if self._is_fresh():
                return
            self._write_configuration()
            with self._scratch() as scratch:
                run_client(
                    ["apt-get", "--quiet", "--error-on=any", "update"],
                    package=f"the package lists of Debian {self.name}",
                    error_mark="E: ",
                    folder=scratch,
                    env=self._environment(),
                    progress=progress,
                    watched=self._folder / "lists" / "partial",
                )
            self._stamp.touch()

    def versions(self, names: re.Pattern[str]) -> Mapping[str, str]:
        """Packages of this suite whose whole name matches → their versions, with revisions."""
        every = self._ask("apt-cache", "pkgnames").split()
        wanted = sorted(name for name in every if names.fullmatch(name))
        if not wanted:
            return {}
        found: dict[str, str] = {}
        for line in self._ask("apt-cache", "madison", *wanted).splitlines():
            package, version, place = (part.strip() for part in line.split("|"))
            if f" {self.name}/" in place and place.endswith(" Packages"):
                found.setdefault(package, version)
        return found

    def files(self, packages: Sequence[str], scratch: Path) -> Sequence[Deb]:
        """All that is needed to run these packages, `name` or `name=version`.

        # Errors
        `ServerError` when apt finds no way.
        """
        listed = self._ask(*self._install(packages, scratch), "--print-uris")
        found = [_FILE.match(line) for line in listed.splitlines()]
        return [Deb(m["name"], int(m["size"]), m["sha256"]) for m in found if m]

    def download(self, packages: Sequence[str], scratch: Path, progress: Progress | None) -> Path:
        """Downloads what `files` lists; returns the folder of the archives.

        # Errors
        `ServerError` when one can't be had, or is not what the signed lists say.
        """
        total = sum(deb.size_bytes for deb in self.files(packages, scratch))
        archives = scratch / "archives"
        run_client(
            [*self._install(packages, scratch), "--download-only"],
            package=f"{packages[0]} of Debian {self.name}",
            error_mark="E: ",
            folder=scratch,
            env=self._environment(),
            progress=progress,
            watched=archives,
            total_bytes=total,
        )
        return archives

    def _install(self, packages: Sequence[str], scratch: Path) -> Sequence[str]:
        (scratch / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        preferences = scratch / "preferences"
        preferences.write_text("".join(self._pins(packages)))
        return [
            "apt-get",
            "--quiet=2",
            "--yes",
            "--no-install-recommends",
            f"-oDir::Cache::Archives={scratch}/archives",
            f"-oDir::Etc::Preferences={preferences}",
            "install",
            *packages,
        ]

    def _pins(self, packages: Sequence[str]) -> Iterable[str]:
        """Experimental is chosen only where it is asked for: all that the same source makes."""
        if self.name != "experimental":
            return
        for package in packages:
            shown = self._ask("apt-cache", "show", "--no-all-versions", package)
            source = re.search(r"^Source: (\S+)", shown, re.MULTILINE)
            origin = source[1] if source else package.partition("=")[0]
            yield f"Package: src:{origin}\nPin: release a=experimental\nPin-Priority: 900\n\n"

    def _ask(self, *argv: str) -> str:
        """What a quick question to apt is answered."""
        answer = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=self._environment()
        )
        if answer.returncode != 0:
            errors = [line for line in answer.stderr.splitlines() if line.startswith("E: ")]
            reason = errors[0].removeprefix("E: ") if errors else f"exit status {answer.returncode}"
            raise ServerError(
                f"Debian {self.name} can't be asked for {argv[-1]}: {reason}",
                hint=f"remove {self._folder} and run again; what was run: `{' '.join(argv)}`",
            )
        return answer.stdout

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "APT_CONFIG": str(self._folder / "apt.conf"), "LC_ALL": "C"}

    def _write_configuration(self) -> None:
        """All that apt needs to know no other folder than ours."""
        place = self._folder
        mirror = _mirror()
        for name in ("lists/partial", "cache/archives/partial"):
            (place / name).mkdir(parents=True, exist_ok=True)
        machine = _printed("dpkg", "--print-architecture").strip()
        (place / "status").write_text("".join(_taken_as_given(machine)))
        sources = [self.name, *(["sid"] if self.name == "experimental" else [])]
        (place / "sources.list").write_text(
            "".join(f"deb [{_options(name)}] {mirror} {name} main\n" for name in sources)
        )
        ours = {
            "Dir::Etc::Main": "/dev/null",
            "Dir::Etc::Parts": "/dev/null",
            "Dir::Etc::SourceList": place / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State::Lists": place / "lists",
            "Dir::State::Status": place / "status",
            "Dir::Cache": place / "cache",
            "Dir::Cache::srcpkgcache": "",
            "APT::Architecture": machine,
            "APT::Sandbox::User": "",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::ForceHash": "sha256",
            "Acquire::GzipIndexes": "true",
            "Acquire::Languages": "none",
            "Debug::NoLocking": "true",
        }
        theirs = [
            line for line in _printed("apt-config", "dump").splitlines() if _NETWORK.match(line)
        ]
        lines = [*theirs, *(f'{name} "{value}";' for name, value in ours.items())]
        (place / "apt.conf").write_text("\n".join(lines) + "\n")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            lock = (self._folder / "lock").open("w")
        except OSError as error:
            raise ServerError(
                f"the package lists of Debian {self.name} can't be kept in {self._folder}: "
                f"{error.strerror}",
                hint=f"name a folder of yours in {CACHE_VARIABLE}",
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        folder = self._folder / "scratch"
        folder.mkdir(exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _options(suite: str) -> str:
    """Signatures count always; the promised date of the next list only where lists stand still."""
    dated = " check-valid-until=no" if suite in MOVING else ""
    return f"signed-by={_KEYRING}{dated}"


def _taken_as_given(machine: str) -> Iterable[str]:
    for name in _NEEDLESS:
        provides = "Provides: debconf-2.0\n" if name == "debconf" else ""
        yield (
            f"Package: {name}\nStatus: install ok installed\nVersion: 9999\n{provides}"
            f"Architecture: {machine}\nMulti-Arch: allowed\nMaintainer: none\nDescription: none\n\n"
        )


def require_apt() -> None:
    """Raises `ServerError` where packages can't be had or unpacked."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise ServerError(
            "packages of a Debian suite need `apt-get` and `dpkg-deb`, which are not installed",
            hint="take a version that comes otherwise: `dbdyno servers` lists them",
        )


def _mirror() -> str:
    """Where this machine gets Debian from.

    # Errors
    `ServerError` where it has no apt, no mirror of Debian or no keys to check it by.
    """
    require_apt()
    if not _KEYRING.exists():
        raise ServerError(
            f"packages of a Debian suite can't be checked: there is no {_KEYRING}",
            hint="`apt-get install debian-archive-keyring`",
        )
    if named := os.environ.get(MIRROR_VARIABLE):
        return named
    targets = _printed("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)")
    for line in targets.splitlines():
        label, _, place = line.partition(" ")
        if label == "Debian":
            return place
    raise ServerError(
        "this machine's package lists name no mirror of Debian",
        hint=f"`apt-get update`, or name one in {MIRROR_VARIABLE}",
    )


def _printed(*argv: str) -> str:
    """What a program of this machine's own apt prints."""
    kept = {name: value for name, value in os.environ.items() if name != "APT_CONFIG"}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=kept).stdout
