"""Parts a study from the passwords in it: the study is shown, kept and published."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from dbdyno.formats.complaint import KeyPath, level_path
from dbdyno.formats.passwords import (
    has_password,
    is_password_named,
    without_password,
    without_passwords,
)
from dbdyno.model import Level, Option, Study, groups_of

SEE = "docs/guides/passwords.md says how a server's password is given by environment or file"


class PasswordError(ValueError):
    """A password that can't be kept out of a study; `path` is its key, empty for one of a whole
    file."""

    def __init__(self, message: str, path: KeyPath = ()) -> None:
        super().__init__(message)
        self.path = path


def parted(study: Study) -> tuple[Study, Mapping[str, str]]:
    """The study without passwords, and provision text without password → the one with it.

    Raises `PasswordError` saying which password can't be kept out.
    """
    secrets: dict[str, str] = {}

    def told(level: Level) -> Level:
        if level.provision is None or not has_password(level.provision):
            return level
        shown = without_password(level.provision)
        if secrets.setdefault(shown, level.provision) != level.provision:
            raise PasswordError(f"two levels differ only in the password of `{shown}`")
        return replace(level, provision=shown)

    factors = tuple(
        replace(factor, levels=tuple(map(told, factor.levels))) for factor in study.factors
    )
    for path, options in _options(replace(study, factors=factors)):
        for name, value in options.items():
            if is_password_named(name, value):
                message = f"option `{name}` holds a password, which its report would publish"
                raise PasswordError(message, (*path, name))
            if has_password(value):
                message = "an option holds a URL with a password, which its report would publish"
                raise PasswordError(message, (*path, name))
    text = without_passwords(study.text) if secrets else study.text
    if secrets and has_password(tomllib.loads(text)):
        raise PasswordError(
            "a password is written with escapes, which can't be kept out of the store"
        )
    return replace(study, factors=factors, text=text), secrets


def _options(study: Study) -> Iterator[tuple[KeyPath, Mapping[str, Option]]]:
    """Each table of options that a report shows, with its place in the file."""
    yield ("workload", "options"), study.workload.options
    if study.workload.tables is not None:
        yield ("workload", "tables", "options"), study.workload.tables.options
    for factor in study.factors:
        for level in factor.levels:
            path = level_path(factor.name, level.name)
            yield (*path, "options"), level.options
            for name, values in groups_of(level.load).items():
                yield (*path, "load", "group", name, "options"), values["options"]
    for group in study.load.groups:
        yield ("load", "group", group.name, "options"), group.options
