"""The available Redis servers and their sources; Valkey's differ by name only."""

from functools import partial
from pathlib import Path

from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Server, ServerSpec, Source
from dbdyno.servers.sources.suite import packages_of


def _open(brand: Brand, spec: ServerSpec, folder: Path) -> Server:
    from dbdyno.servers.databases.redis.running import RunningRedis
    from dbdyno.servers.databases.redis.server import RedisServer

    if spec.provision.source is Source.URL:
        return RunningRedis(brand, spec)
    return RedisServer(brand, spec, folder)


def kind_of(brand: Brand) -> Kind:
    """The kind of server that a brand is."""
    return Kind(
        name=brand.kind,
        open=partial(_open, brand),
        driver="redis",
        suite_packages=partial(packages_of, brand.kind),
        installed=brand.installed,
        installed_at=brand.installed_at,
        debian_package=brand.program,
        url_schemes=(brand.kind, brand.tls_scheme),
        refuses=brand.refuses,
    )


KIND = kind_of(Brand("redis", "Redis"))
