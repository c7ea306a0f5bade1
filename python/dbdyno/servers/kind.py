"""What the rest of the lab knows of a kind of server; `registry.py` finds them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.servers.protocol import (
    Connection,
    Installation,
    Package,
    Provision,
    Server,
    ServerSpec,
)
from dbdyno.servers.replication import Replication

_Lacks = Callable[[Provision, Mapping[str, str], Connection], Iterator[tuple[str, str, str]]]


def _nobody_connects(provision: Provision, _: Connection) -> str:
    return f"`{provision.kind}` accepts no connections: it has no server process"


def _nothing(_: Package) -> Sequence[Package]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What is known of where the programs of a server or tool come from."""

    name: str
    embedded_version: str | None = None
    """For an in-process kind: the version of its library."""
    packages: Sequence[Package] = ()
    suite_packages: Callable[[], Sequence[Package]] = tuple
    """Versions in the distribution's suites, as far as known."""
    maven_package: Callable[[str], Package] | None = None
    """Makes the package of any version that is not in `packages`."""
    installed: Callable[[], Sequence[Installation]] = tuple
    """Finds installations on this machine."""
    installed_at: Callable[[Path], Installation] | None = None
    """Finds the installation in a folder that the user names."""
    debian_package: str | None = None
    """Its package name for `apt-get install`."""
    prefix: str = ""
    """The prefix of its name in provision texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Provisioned):
    """A folder in `databases/`, or a tool."""

    open: Callable[[ServerSpec, Path], Server]
    """Makes a server, not yet started, in the run's folder."""
    driver: str = ""
    """The engine's name of its protocol; empty if the engine has no driver for it."""
    url_schemes: Sequence[str] = ()
    refuses: Callable[[Provision, Connection], str | None] = _nobody_connects
    """Why such connections are impossible; `None` if they are possible."""
    lacks: _Lacks | None = None
    """What a server was built without of what settings and connections need: name, why, and which
    servers have it; `None`: packages of this kind differ in nothing."""
    takes_c_functions: bool = False
    """Whether C functions can be loaded into a server of ours."""
    besides: Callable[[Package], Sequence[Package]] = _nothing
    """What is downloaded with a package of it, since its servers or the engine need that, too."""
    replication: Callable[[], Replication] | None = None
    """How replicas of its servers are made; `None`: no way is known here."""
    empty_bytes: int = 0
    """Of a data folder before any table, logs of the default size included."""
    rows_per_s: int = 100_000
    """Loaded on two slow cores."""


def packages_of(kind: Kind | None, provision: Provision) -> Iterator[Package]:
    """What is downloaded for a server: its own package, and those besides. `None`: a tool, which
    has its own alone."""
    if provision.package is not None:
        yield provision.package
        yield from kind.besides(provision.package) if kind else ()
