"""The files that configure a ClickHouse of one run: its server, and its users."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

SERVER_PREFIX = "server."
"""What begins the name of a setting of the server's own file; all others are those of queries."""


def split(settings: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Settings of the server's own, without their prefix, and settings of queries. Those of
    MergeTree tables stand in the server's file."""
    server: dict[str, str] = {}
    queries: dict[str, str] = {}
    for name, value in settings.items():
        if name.startswith(SERVER_PREFIX):
            server[name.removeprefix(SERVER_PREFIX)] = value
        elif name.startswith("merge_tree."):
            server[name] = value
        else:
            queries[name] = value
    return server, queries


def document(values: Mapping[str, str]) -> str:
    """A file with these values; a dot in a name is a step to an inner element."""
    root = ElementTree.Element("yandex")
    for path, value in values.items():
        element = root
        for name in path.split("."):
            inner = element.find(name)
            element = ElementTree.SubElement(element, name) if inner is None else inner
        element.text = value
    return ElementTree.tostring(root, encoding="unicode")
