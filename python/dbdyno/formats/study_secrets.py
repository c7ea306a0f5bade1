"""Parts a study from the passwords in it: the study is shown, kept and published."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace

from dbdyno.formats.passwords import (
    has_password,
    is_password_named,
    without_password,
    without_passwords,
)
from dbdyno.model import Level, Study

SEE = "docs/guides/passwords.md says how a server's password is given by environment or file"


def parted(study: Study) -> tuple[Study, Mapping[str, str]]:
    """The study without passwords, and provision text without password → the one with it.

    Raises `ValueError` saying which password can't be kept out.
    """
    secrets: dict[str, str] = {}

    def told(level: Level) -> Level:
        if level.provision is None or not has_password(level.provision):
            return level
        shown = without_password(level.provision)
        if secrets.setdefault(shown, level.provision) != level.provision:
            raise ValueError(f"two levels differ only in the password of `{shown}`")
        return replace(level, provision=shown)

    factors = tuple(
        replace(factor, levels=tuple(map(told, factor.levels))) for factor in study.factors
    )
    workload = study.workload
    tables = workload.tables.options if workload.tables else {}
    levels = [level.options for factor in factors for level in factor.levels]
    groups = [group.options for group in study.load.groups]
    options = (workload.options, tables, *levels, *groups)
    for name in (
        n for table in options for n, value in table.items() if is_password_named(n, value)
    ):
        raise ValueError(f"option `{name}` holds a password, which its report would publish")
    if any(map(has_password, options)):
        raise ValueError("an option holds a URL with a password, which its report would publish")
    text = without_passwords(study.text) if secrets else study.text
    if secrets and has_password(tomllib.loads(text)):
        raise ValueError("a password is written with escapes, which can't be kept out of the store")
    return replace(study, factors=factors, text=text), secrets
