"""Settings that a study asks for: the fact of them, and errors for those that can't be had."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from dbdyno.errors import ServerError


def changed_by_study(settings: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """The fact `settings_changed` of a server that does not tell its defaults."""
    return {name: {"value": value, "source": "study"} for name, value in sorted(settings.items())}


def unknown_setting(server: str, name: str, known: Iterable[str], otherwise: str) -> ServerError:
    """The error for a name that the server does not know; its hint is the nearest one it does."""
    close = get_close_matches(name, list(known), n=1)
    return ServerError(
        f"{server} has no setting `{name}`",
        hint=f"did you mean `{close[0]}`?" if close else otherwise,
    )


def refuse_reserved(settings: Iterable[str], reserved: frozenset[str]) -> None:
    """Raises `ServerError` for a setting by which we reach and watch a server of ours."""
    if found := sorted(reserved.intersection(settings)):
        raise ServerError(
            f"`{found[0]}` is set by dbdyno itself and can't be a setting of a study",
            hint="leave it out",
        )


def refuse_all(settings: Mapping[str, str], example: str) -> None:
    """Raises `ServerError` for any setting asked of a server that somebody else runs."""
    if settings:
        raise ServerError(
            f"settings ({', '.join(sorted(settings))}) were asked of a server that is not ours "
            "to configure",
            hint=f"set them there yourself, or let dbdyno start a server (`{example}`)",
        )
