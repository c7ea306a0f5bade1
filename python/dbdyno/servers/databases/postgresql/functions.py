"""C functions for a run's PostgreSQL server: compiled against that server's headers, and put where
it finds them.

A library is named after its file: `stamp.c` becomes `stamp`, and `CREATE FUNCTION … AS 'stamp',
'symbol'` finds it through `dynamic_library_path`.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import MachineError, ServerError
from dbdyno.servers.protocol import Provision, Source
from dbdyno.servers.sources import cache
from dbdyno.servers.sources.cache import sha256_of
from dbdyno.servers.sources.packaged import cache_key, printed_by

COMPILER = "cc"
FLAGS = ("-O2", "-fPIC", "-shared")
_COMPILE_LIMIT_S = 120


def require(provision: Provision) -> None:
    """Raises `MachineError` if something is missing to compile functions for this server.

    Packages not yet downloaded are not checked.
    """
    if shutil.which(COMPILER) is None:
        raise MachineError(
            f"functions in C need a compiler, and there is no `{COMPILER}` here",
            hint="`apt-get install gcc libc6-dev`",
        )
    folder = _programs(provision)
    if folder is not None and _headers(folder) is None:
        raise _no_headers(provision)


def compile_functions(
    provision: Provision, programs: Path, sources: Sequence[Path], into: Path
) -> Mapping[str, object]:
    """Makes a library of each of `sources` in the folder `into`; returns the facts of it.

    # Errors
    `MachineError` when compiler or headers are missing, `ServerError` with what the compiler says.
    """
    require(provision)
    headers = _headers(programs)
    if headers is None:
        raise _no_headers(provision)
    made: dict[str, object] = {}
    for source in sources:
        done = subprocess.run(
            [COMPILER, *FLAGS, f"-I{headers}", "-o", into / f"{source.stem}.so", source],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMPILE_LIMIT_S,
            check=False,
        )
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            raise ServerError(
                f"{source.name} can't be compiled for {provision.kind} {provision.version}: "
                f"{errors[0] if errors else done.stderr.strip()}",
                hint="functions in C are written against the headers of one version or several",
            )
        made[source.stem] = {"source": source.name, "source_sha256": sha256_of(source)}
    compiler = Path(shutil.which(COMPILER) or COMPILER)
    version = (printed_by(compiler, "--version") or COMPILER).splitlines()[0]
    return {"compiler": version, "flags": list(FLAGS), "libraries": made}


def _programs(provision: Provision) -> Path | None:
    """Where the server's programs are, if that is known by now."""
    if provision.installation is not None:
        return provision.installation.binaries
    package = provision.package
    cached = cache.find(cache_key(package)) if package is not None else None
    return cached.folder / package.binaries if cached and package is not None else None


def _headers(programs: Path) -> Path | None:
    """The folder of `postgres.h`, as the server's own `pg_config` says; `None` if it is not there.

    Debian's pg_config is there before the headers are.
    """
    output = printed_by(programs / "pg_config", "--includedir-server")
    folder = Path((output or "").strip())
    return folder if output and (folder / "postgres.h").is_file() else None


def _no_headers(provision: Provision) -> MachineError:
    major = str(provision.version).partition(".")[0]
    cure = "take a version that comes as a wheel, such as `postgresql:18.4`: it has them"
    if provision.source is Source.SYSTEM:
        cure = f"`apt-get install postgresql-server-dev-{major}`, or {cure}"
    return MachineError(
        f"functions in C need the headers of `{provision.text}`, which it comes without", hint=cure
    )
