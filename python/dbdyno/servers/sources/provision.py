"""Provision texts: `sqlite`, `postgresql:18.4`, `postgresql:14@maven`, `postgresql@system`,
`mysql:9.7@debian`, `mariadb:11.8@trixie`, `mariadb@path:/opt/mariadb`, `url:postgresql://…`.

A version may be cut short (`14` takes the newest 14 there is); without a source, the first of
wheel, Maven, system and the distribution's suites that has the version is taken. Releases go
before what precedes them (`19~rc1`), suites that stand before those that move.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from urllib.parse import urlsplit

from dbdyno.errors import ServerError
from dbdyno.formats.passwords import BADLY_ENCODED, ENCODE, is_badly_encoded, without_password
from dbdyno.model.study import BY_URL
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Installation, Package, Provision, Source
from dbdyno.servers.sources.apt import MOVING
from dbdyno.servers.sources.suite import SUITES, VERSION, is_moving, suite_of

_FORM = re.compile(r"(?P<kind>[^:@]+)(:(?P<version>[^@]+))?(@(?P<source>[^:]+)(:(?P<place>.+))?)?")
_STAGES = ("alpha", "beta", "rc")
_MAY_ASK = ContextVar("programs may be asked", default=True)
_SEE = "`dbdyno servers` lists all there is"


class NoSuchVersionError(ServerError):
    """No known source has this version."""

    def __init__(
        self, message: str, *, hint: str | None = None, suites: Sequence[str] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.suites = suites
        """Suites that may have it by now."""


def parse(text: str, kinds: Mapping[str, Kind], noun: str = "server") -> Provision:
    """Parses a provision text for one of these kinds of server or tool.

    # Errors
    `ServerError` names the unknown part, the nearest match and what exists.
    """
    if text.startswith(BY_URL):
        return _parse_url(text, kinds)
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ServerError(
            f"`{text}` does not name a {noun}; expected `kind`, `kind:version`, "
            "`kind:version@source`, `kind@path:/folder` or `url:…`",
            hint=f"for example `postgresql:18.4`; {_SEE}",
        )
    kind = kinds.get(form["kind"])
    if kind is None:
        raise _unknown(f"kind of {noun}", form["kind"], kinds)
    source, suite = _source(form["source"], text)
    if (form["place"] is not None) != (source is Source.PATH):
        raise ServerError(
            f"`{text}`: `@path:` and nothing else takes a folder",
            hint=f"for example `{kind.name}@path:/opt/{kind.name}/bin`",
        )
    if source is Source.PATH:
        return _at_path(text, kind, Path(form["place"]), form["version"])
    if form["version"] and not VERSION.fullmatch(form["version"]):
        raise _no_such(text, kind, Source.PATH, None, form["version"])
    if kind.embedded_version is not None:
        return _embedded(text, kind, source, form["version"])
    return _choose(text, kind, source, suite, form["version"])


def choices(kind: Kind) -> Iterator[Package | Installation]:
    """All known versions of a kind: packages first, then installations, then suites."""
    yield from kind.packages
    yield from kind.installed()
    yield from kind.suite_packages()


def version_key(version: str) -> tuple[int, ...]:
    """Versions in order, trailing zeros aside: 18.0 is 18.0.0, and 19~rc1 comes before 19.

    # Errors
    `ValueError` for what is no version.
    """
    parts = VERSION.fullmatch(version)
    if parts is None:
        raise ValueError(f"`{version}` is no version")
    numbers = [int(number) for number in parts["numbers"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    if parts["stage"]:
        stage = _STAGES.index(parts["stage"]) - len(_STAGES)
        return (*numbers, stage, int(parts["count"]))
    return (*numbers, 0)


def is_before_release(version: str) -> bool:
    """Whether it is an alpha, beta or release candidate."""
    return "~" in version


def _parse_url(text: str, kinds: Mapping[str, Kind]) -> Provision:
    url = text.removeprefix(BY_URL)
    masked = f"{BY_URL}{without_password(url, mark='***')}"
    if is_badly_encoded(url):
        raise ServerError(f"`{masked}`: {BADLY_ENCODED}", hint=ENCODE)
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise ServerError(f"`{masked}` is no URL of a server: {error}", hint=_SEE) from error
    schemes = {scheme: kind for kind in kinds.values() for scheme in kind.url_schemes}
    if scheme not in schemes:
        raise _unknown("scheme of a server's URL", scheme, schemes)
    kind = schemes[scheme]
    return Provision(masked, kind.name, Source.URL, url=url)


def _source(name: str | None, text: str) -> tuple[Source | None, str | None]:
    """A source, and the suite if one was named instead."""
    if name is None:
        return None, None
    if name in SUITES:
        return Source.DEBIAN, name
    named = {source.value: source for source in Source if source is not Source.URL}
    if name not in named:
        raise _unknown(f"source in `{text}`", name, {**named, **dict.fromkeys(SUITES)})
    return named[name], None


def at_path(text: str) -> Path | None:
    """The folder of a provision text whose programs are somebody's own; `None` of any other."""
    form = None if text.startswith(BY_URL) else _FORM.fullmatch(text.strip())
    return Path(form["place"]) if form and form["place"] else None


@contextmanager
def programs_not_asked() -> Iterator[None]:
    """Programs in folders that a text names are not executed to ask for their version."""
    token = _MAY_ASK.set(False)
    try:
        yield
    finally:
        _MAY_ASK.reset(token)


def _at_path(text: str, kind: Kind, folder: Path, version: str | None) -> Provision:
    if kind.installed_at is None:
        raise ServerError(f"`{text}`: {kind.name} runs in process and has no folder of programs")
    if not _MAY_ASK.get():
        return Provision(text, kind.name, Source.PATH, version)
    found = kind.installed_at(folder.absolute())
    if version and not matches(version, found.version):
        raise ServerError(
            f"`{text}`: {folder} holds {kind.name} {found.version}, not {version}",
            hint=f"say `{kind.name}@path:{folder}`",
        )
    return Provision(text, kind.name, Source.PATH, found.version, installation=found)


def _embedded(text: str, kind: Kind, source: Source | None, version: str | None) -> Provision:
    if source not in (None, Source.EMBEDDED) or version is not None:
        raise ServerError(
            f"`{text}`: {kind.name} is embedded in the engine, in one version only",
            hint=f"say `{kind.name}`",
        )
    return Provision(text, kind.name, Source.EMBEDDED, kind.embedded_version)


def _choose(
    text: str, kind: Kind, source: Source | None, suite: str | None, version: str | None
) -> Provision:
    found = [
        choice
        for choice in choices(kind)
        if source in (None, choice.source)
        and suite in (None, suite_of(choice) if isinstance(choice, Package) else None)
        and matches(version, choice.version)
    ]
    if found:
        best = min(found, key=_preference)
        if isinstance(best, Package):
            return Provision(text, kind.name, best.source, best.version, package=best)
        return Provision(text, kind.name, best.source, best.version, installation=best)
    if source is Source.MAVEN and version and version.count(".") == 2 and kind.maven_package:
        package = kind.maven_package(version)
        return Provision(text, kind.name, source, version, package=package)
    if source is Source.SYSTEM and not kind.installed():
        install = f"`apt-get install {kind.debian_package}`" if kind.debian_package else ""
        download = "leave `@system` out to download one" if kind.packages else ""
        raise ServerError(
            f"`{text}`: no {kind.name} is installed on this machine",
            hint=", or ".join(filter(None, (install, download))) or None,
        )
    raise _no_such(text, kind, source, suite, version or "")


def _preference(choice: Package | Installation) -> tuple[object, ...]:
    """The least is the best."""
    moving = isinstance(choice, Package) and is_moving(choice)
    newest_first = [-number for number in version_key(choice.version)]
    early = is_before_release(choice.version)
    return early, list(Source).index(choice.source), moving, newest_first


def matches(wanted: str | None, version: str) -> bool:
    """Whether `wanted`, perhaps an abbreviation, means a version; a pre-release is also meant by
    its first number."""
    if wanted is None or wanted == version:
        return True
    if is_before_release(wanted):
        return False
    asked, has = wanted.split("."), version.partition("~")[0].split(".")
    if is_before_release(version) and len(asked) > 1:
        return False
    has += ["0"] * (len(asked) - len(has))
    return [int(number) for number in asked] == [int(number) for number in has[: len(asked)]]


def nearest(kind: Kind, version: str) -> Sequence[str]:
    """Up to three provision texts closest to a version that does not exist."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]

    def distance(choice: Package | Installation) -> list[int]:
        has = [int(number) for number in re.findall(r"\d+", choice.version)]
        width = max(len(has), len(numbers))
        pairs = zip(has + [0] * width, numbers + [0] * width, strict=False)
        return [abs(a - b) for a, b in list(pairs)[:width]]

    ordered = sorted(choices(kind), key=distance)
    return list(dict.fromkeys(exact_text(kind, choice) for choice in ordered))[:3]


def exact_text(kind: Kind, choice: Package | Installation) -> str:
    """The provision text that means exactly this one."""
    origin = choice.source.value
    if isinstance(choice, Package) and choice.source is Source.DEBIAN:
        origin = suite_of(choice)
    return f"{kind.prefix}{kind.name}:{choice.version}@{origin}"


def _no_such(
    text: str, kind: Kind, source: Source | None, suite: str | None, version: str
) -> NoSuchVersionError:
    near = ", ".join(f"`{name}`" for name in nearest(kind, version))
    message = f"`{text}`: there is no such {kind.name}; the nearest there are: {near}"
    moving = [name for name in MOVING if suite in (None, name)]
    may_have = source in (None, Source.DEBIAN) and kind.suite_packages()
    return NoSuchVersionError(message, hint=_SEE, suites=moving if may_have else ())


def _unknown(what: str, name: str, known: Mapping[str, object]) -> ServerError:
    close = difflib.get_close_matches(name, known, n=1)
    guess = f"; did you mean `{close[0]}`?" if close else ""
    return ServerError(
        f"`{name}` is not a {what}{guess}", hint=f"known: {', '.join(sorted(known))}; {_SEE}"
    )
