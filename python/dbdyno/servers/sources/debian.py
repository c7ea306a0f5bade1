"""Servers and tools carried by packages of another suite of the distribution.

A package and all it depends on are unpacked into one folder, which stands for the root of a
machine of that suite. Nothing is installed. Programs run with the loader and the libraries they
were built for: each has a wrapper in its place (the program itself is `NAME.elf` beside it), so
that programs which start one another work too.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.sources.apt import Deb, Suite
from dbdyno.servers.sources.cache import Archive, sha256_of
from dbdyno.servers.sources.client import Progress

LIST_NAME = "dbdyno-packages.txt"
"""In the unpacked folder: each package's file, with its checksum."""
_NAME = re.compile(r"(?P<suite>[a-z]+)/(?P<main>[^= ]+)=(?P<version>[^ ]+)(?P<more>( [^ ]+)*)")
_LOADERS = "usr/lib/dbdyno-loader"
"""Links to the loader, one a program: a process is named by the file it was started from."""
_PROGRAM_FOLDERS = ("usr/bin", "usr/sbin", "usr/libexec", "usr/lib/postgresql/*/bin")
_MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_NEEDLESS = ("doc", "man", "info", "locale", "lintian", "bash-completion", "mysql-test")
_ELF = b"\x7fELF"


def fetch(package: str, content: Path, scratch: Path, progress: Progress | None = None) -> Archive:
    """Downloads `suite/name=version more packages…`, the version without its revision, and unpacks
    them into `content`.

    # Errors
    `ServerError` when the suite has another version by now, or a file is not what it should be.
    """
    parts = _NAME.fullmatch(package)
    assert parts is not None, "names of packages are made in suite.py"
    suite = Suite(parts["suite"])
    suite.update(progress)
    has = suite.versions(re.compile(re.escape(parts["main"]))).get(parts["main"])
    if has is None or upstream(has) != parts["version"]:
        there = f"it has {upstream(has)} now" if has else "it has none now"
        raise ServerError(
            f"Debian {suite.name} no longer has {parts['main']} {parts['version']}: {there}",
            hint="`dbdyno servers` lists what there is",
        )
    wanted = [f"{parts['main']}={has}", *parts["more"].split()]
    debs = suite.files(wanted, scratch)
    archives = suite.download(wanted, scratch, progress)
    main = next(deb for deb in debs if deb.name.startswith(f"{parts['main']}_"))
    _verify(archives, debs)
    _unpack([archives / deb.name for deb in debs], content)
    wrap_programs(content)
    _choose_alternatives(content)
    (content / LIST_NAME).write_text("".join(f"{deb.sha256}  {deb.name}\n" for deb in debs))
    return Archive(
        package=f"{suite.name}/{wanted[0]}",
        file=main.name,
        sha256=main.sha256,
        verified_by=f"the suite's signed list, {len(debs)} packages by sha256",
        download_bytes=sum(deb.size_bytes for deb in debs),
    )


def upstream(version: str) -> str:
    """A package's version as its makers write it: without epoch, revision and repackaging; dots
    where they have hyphens (1.0-0)."""
    _, _, tail = version.rpartition(":")
    head, dash, _ = tail.rpartition("-")
    return re.split(r"[+]", head if dash else tail)[0].replace("-", ".")


def real_program(program: Path) -> Path:
    """The program behind its wrapper; itself where it has none."""
    behind = program.with_name(f"{program.name}.elf")
    return behind if behind.exists() else program


def _verify(archives: Path, debs: Iterable[Deb]) -> None:
    for deb in debs:
        path = archives / deb.name
        found = sha256_of(path) if path.exists() else "nothing"
        if found != deb.sha256:
            raise ServerError(
                f"{deb.name} has sha256 {found}; the suite's signed list says {deb.sha256}",
                hint="the download is damaged: run again",
            )


def _unpack(archives: Sequence[Path], content: Path) -> None:
    """Unpacks without documentation; old suites' /bin and /lib are put under /usr."""
    for name, target in _MERGED.items():
        (content / target).mkdir(parents=True, exist_ok=True)
        (content / name).symlink_to(target)
    left_out = [f"--exclude=./usr/share/{name}" for name in _NEEDLESS]
    untar = [
        "tar",
        "-x",
        "-C",
        str(content),
        "--keep-directory-symlink",
        "--no-same-owner",
        *left_out,
    ]
    for archive in archives:
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE
        ) as opened:
            unpacked = subprocess.run(
                untar, stdin=opened.stdout, capture_output=True, text=True, check=False
            )
        if unpacked.returncode != 0 or opened.returncode != 0:
            lines = unpacked.stderr.strip().splitlines()
            raise ServerError(
                f"{archive.name} can't be unpacked: {lines[-1] if lines else 'dpkg-deb failed'}",
                hint=f"make room where {content} is, then run again",
            )


def _choose_alternatives(root: Path) -> None:
    """Makes the links by which an installation names the version of PostGIS that it has."""
    for control in root.glob("usr/share/postgresql/*/extension/postgis*-[0-9]*.control"):
        name = re.sub(r"-\d+$", "", control.stem)
        link = control.with_name(f"{name}.control")
        if not link.exists():
            link.symlink_to(control.name)


def wrap_programs(root: Path) -> None:
    """Puts a wrapper in the place of each program below `root`; links to one get their own."""
    loader = next(iter(sorted(root.glob("usr/lib*/**/ld-linux*.so.*"))), None)
    if loader is None:
        return
    loaders = root / _LOADERS
    loaders.mkdir(parents=True, exist_ok=True)
    libraries = [path.relative_to(root) for path in _library_folders(root)]
    places = [place for pattern in _PROGRAM_FOLDERS for place in root.glob(pattern)]
    entries = [path for place in places for path in sorted(place.iterdir())]
    programs = [path for path in entries if not path.is_symlink() and _is_program(path)]
    for program in programs:
        program.rename(program.with_name(f"{program.name}.elf"))
        _wrap(program, root, loader, libraries)
    for link in entries:
        if not link.is_symlink():
            continue
        target = Path(os.path.normpath(link.parent / link.readlink()))
        behind = target.with_name(f"{target.name}.elf")
        if behind.exists():
            link.unlink()
            link.with_name(f"{link.name}.elf").symlink_to(os.path.relpath(behind, link.parent))
            _wrap(link, root, loader, libraries)


def _library_folders(root: Path) -> Iterable[Path]:
    """The system's, and those of private libraries: a program would look for them on the machine
    it runs on."""
    for folder in sorted(root.glob("usr/lib/*-linux-gnu*")):
        yield folder
        yield from sorted({path.parent for path in folder.glob("*/lib*.so.*")})
    yield from sorted({path.parent for path in root.glob("usr/lib/mysql/private/*.so*")})
    yield from sorted(root.glob("usr/lib/postgresql/*/lib"))  # Extensions load one another.


def _is_program(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.X_OK) or ".so" in path.name:
        return False
    with path.open("rb") as file:
        return file.read(4) == _ELF


def _wrap(program: Path, root: Path, loader: Path, libraries: Iterable[Path]) -> None:
    """Writes a wrapper that finds all by its own place, so that the folder can be moved."""
    up = os.path.relpath(root, program.parent)
    link = root / _LOADERS / program.name
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(loader, link.parent))
    path = ":".join(f"$here/{up}/{folder}" for folder in libraries)
    program.write_text(
        f"#!/bin/sh\n# {program.name}, with the loader and libraries it was built for.\n"
        'here=${0%/*}\n[ "$here" != "$0" ] || here=.\n'
        f'exec "$here/{up}/{_LOADERS}/{program.name}" --library-path "{path}" \\\n'
        f'    "$here/{program.name}.elf" "$@"\n'
    )
    program.chmod(0o755)
