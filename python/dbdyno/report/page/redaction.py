"""What a page for everybody must not say: addresses of servers, paths, names of users and hosts.

Pure: from texts to what is replaced in them, so that it can be listed before anything is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

SERVERS = (
    "postgresql",
    "postgres",
    "mysql",
    "mariadb",
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "mongodb",
    "clickhouse",
)
_URL = re.compile(rf"\b(?:{'|'.join(SERVERS)}|sqlite):/{{0,3}}[^\s\"'<>\\`;)]*[^\s\"'<>\\`,;)?.]")
_PATH = re.compile(
    r"(?<![\w/.:#?&=-])/(?:home|root|tmp|var|srv|mnt|media|opt|data|work|Users|run|usr/local)"
    r"/[^\s\"'<>\\`,;:)&]+"
)
_AUTHORITY = re.compile(r"://(?:[^/@\s]*@)?([^/?\s]*)")
_LEAST_NAME = 3
"""Characters of a name of a user or host that is looked for as a word by itself."""
_COMMON = frozenset(
    {"localhost", "root", "postgres", "mysql", "test", "user", "admin", "127.0.0.1"}
)
"""Names that say nothing of anybody."""


@dataclass(slots=True)
class Redaction:
    """Replaces, and counts what was replaced."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Word → what stands for it."""
    replaced: Counter[str] = field(default_factory=Counter)
    """Text that was replaced → how often."""

    def clean(self, text: str) -> str:
        """The text without addresses, paths and names."""
        text = _URL.sub(lambda match: self._count(match[0], _kind_of(match[0])), text)
        text = self._replace(_PATH, "[path]", text)
        for name, instead in self.names.items():
            pattern = rf"(?<![\w.-]){re.escape(name)}(?!\w)"
            text = self._replace(re.compile(pattern), instead, text)
        return text

    def _replace(self, pattern: re.Pattern[str], instead: str, text: str) -> str:
        return pattern.sub(lambda match: self._count(match[0], instead), text)

    def _count(self, text: str, instead: str) -> str:
        self.replaced[text] += 1
        return instead


def names_in(urls: Iterable[str], *, users: Iterable[str], hosts: Iterable[str]) -> dict[str, str]:
    """Names of users and hosts that texts may hold by themselves: those given, and the hosts of
    `urls`, also as parts of a level's name (`db1-5432-test`)."""
    names = dict.fromkeys(users, "[user]")
    names |= dict.fromkeys(hosts, "[host]")
    for url in urls:
        for authority in _AUTHORITY.findall(url):
            for host in authority.split(","):
                names[host.partition(":")[0]] = "[host]"
    return {
        name: instead
        for name, instead in names.items()
        if len(name) >= _LEAST_NAME and name.lower() not in _COMMON
    }


def _kind_of(url: str) -> str:
    """The address without what tells which server it is."""
    return f"{url.partition(':')[0]}://[server]"
