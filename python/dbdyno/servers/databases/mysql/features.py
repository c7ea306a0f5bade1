"""What a MariaDB was built with, or has as plugins, which packages have it, and which settings need
it (a table of it is in docs/servers.md).

An installation's plugins are the files in its folder of plugins. Of packages a table here says what
they lack: those of suites were unpacked and looked at, and Maven's have no plugins at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from dbdyno.servers.databases.mysql.brand import release_numbers
from dbdyno.servers.protocol import Connection, Provision, Source

_ALGORITHMS = {"2": "lz4", "3": "lzo", "4": "lzma", "5": "bzip2", "6": "snappy"}
"""Values of `innodb_compression_algorithm` that need a library."""
_PROVIDERS_SINCE = (10, 7)
"""Before, algorithms are built in, or are not there."""
_OTHER_PACKAGES = re.compile(
    "provider_.*|ha_connect|ha_oqgraph|ha_s3|ha_mroonga|ha_columnstore|hashicorp_.*|auth_gssapi"
)
"""Plugins that Debian has in packages of their own, which are not unpacked here."""
_BUILT_IN = ("lz4", "snappy")
"""Algorithms in bullseye's 10.5."""


def lacks(
    provision: Provision, settings: Mapping[str, str], _: Connection
) -> Iterator[tuple[str, str, str]]:
    """Each setting that needs a plugin or library that the server lacks: its name, what is wrong,
    and which servers have it."""
    name = f"`{provision.text}` ({provision.version})"
    loaded = [*_loaded(settings)]
    for setting, plugin in loaded:
        if "plugin_dir" not in settings and not _has_plugin(provision, plugin):
            message = f"`{setting}` names the plugin `{plugin}`, which {name} does not have"
            yield setting, message, _cure(plugin)
    setting = "innodb_compression_algorithm"
    asked = settings.get(setting, "").lower()
    algorithm = _ALGORITHMS.get(asked, asked)
    if algorithm not in _ALGORITHMS.values() or provision.version is None:
        return
    if release_numbers(provision.version) < _PROVIDERS_SINCE:
        if not _is_built_in(provision, algorithm):
            message = f"`{setting}` needs {algorithm}, which {name} was built without"
            yield setting, message, _cure(f"provider_{algorithm}")
    elif f"provider_{algorithm}" not in [plugin for _, plugin in loaded]:
        message = f"`{setting}` needs the plugin `provider_{algorithm}`, which nothing loads"
        yield setting, message, f'`plugin_load_add = "provider_{algorithm}"` among its settings'


def libraries(effective: Mapping[str, str]) -> Mapping[str, object]:
    """Facts of a running server: its TLS library, and of MariaDB the libraries in which packages
    differ. `effective`: all its variables."""
    tls = effective.get("version_ssl_library")
    if "MariaDB" not in effective["version"]:
        return {"tls_library": tls}
    words = [text.split()[0].lower() for text in (tls, _allocator(effective)) if text]
    return {"tls_library": tls, "features": words}


def _allocator(effective: Mapping[str, str]) -> str | None:
    """Of memory, unless it is the C library's."""
    name = effective.get("version_malloc_library", "")
    return None if name.lower() in ("system", "bundled") else name


def _loaded(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Setting and plugin's file, without its ending, of those that are loaded at start-up."""
    for setting in ("plugin_load", "plugin_load_add"):
        for entry in filter(None, settings.get(setting, "").split(";")):
            yield setting, entry.rpartition("=")[2].strip().removesuffix(".so")


def _has_plugin(provision: Provision, plugin: str) -> bool:
    """Whether the server has it, or it isn't known."""
    if provision.installation is not None:
        folders = _plugin_folders(provision.installation.binaries)
        return not folders or any((each / f"{plugin}.so").exists() for each in folders)
    match provision.source:
        case Source.MAVEN:
            return False
        case Source.DEBIAN:
            return _OTHER_PACKAGES.fullmatch(plugin) is None
        case _:
            return True


def _plugin_folders(binaries: Path) -> list[Path]:
    base = binaries.parent
    every = ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib/mariadb/plugin")
    return [folder for name in every if (folder := base / name).is_dir()]


def _is_built_in(provision: Provision, algorithm: str) -> bool:
    """Of servers before the plugins; or it isn't known."""
    match provision.source:
        case Source.MAVEN:
            return False
        case Source.DEBIAN:
            return algorithm in _BUILT_IN
        case _:
            return True


def _cure(plugin: str) -> str:
    if plugin.startswith("provider_"):
        package = f"mariadb-plugin-{plugin.replace('_', '-')}"
        built_in = "; `mariadb:10.5@bullseye` has lz4 and snappy built in"
        return f"`mariadb@system` on Debian after `apt-get install {package}`{built_in}"
    if plugin in ("ha_rocksdb", "ha_spider", "file_key_management"):
        return "servers with it: `mariadb:10.5`, `mariadb:10.11@bookworm`, `mariadb:11.8`"
    return "a server whose folder of plugins has it (docs/servers.md has a table)"
