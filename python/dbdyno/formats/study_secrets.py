"""Parts a study from the passwords in it: the study is shown, kept and published."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dbdyno.formats.key_path import KeyPath, level_path
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
    """The study without passwords, and text of a server's URL without password → the one with it.

    Raises `PasswordError` saying which password can't be kept out.
    """
    secrets: dict[str, str] = {}

    def hide(text: str) -> str:
        shown = without_password(text)
        if shown != text and secrets.setdefault(shown, text) != text:
            raise PasswordError(f"two levels differ only in the password of `{shown}`")
        return shown

    def told(level: Level) -> Level:
        shown = level.provision and hide(level.provision)
        return replace(level, provision=shown, topology=_mapped(level.topology, hide))

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


def with_passwords(keys: Mapping[str, object], secrets: Mapping[str, str]) -> Mapping[str, object]:
    """The keys of a topology with the URLs that `parted` has taken out of them."""
    return _mapped(keys, lambda text: secrets.get(text, text))


def _mapped(keys: Mapping[str, Any], change: Callable[[str], str]) -> Mapping[str, Any]:
    """Nested tables with their texts changed."""

    def changed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _mapped(value, change)
        return change(value) if isinstance(value, str) else value

    return {key: changed(value) for key, value in keys.items()}


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
