"""The available Redis servers and their sources."""

from functools import partial
from pathlib import Path

from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Server, ServerSpec, Source
from dbdyno.servers.sources.suite import packages_of

BRAND = Brand("redis", "Redis")


def open_as(brand: Brand, spec: ServerSpec, folder: Path) -> Server:
    """A server of that brand: one of ours, or the one at a URL."""
    from dbdyno.servers.databases.redis.running import RunningRedis
    from dbdyno.servers.databases.redis.server import RedisServer

    if spec.provision.source is Source.URL:
        return RunningRedis(brand, spec.provision, spec.settings)
    return RedisServer(brand, spec, folder)


KIND = Kind(
    name=BRAND.kind,
    open=partial(open_as, BRAND),
    driver="redis",
    suite_packages=partial(packages_of, BRAND.kind),
    installed=BRAND.installed,
    installed_at=BRAND.installed_at,
    debian_package="redis-server",
    url_schemes=("redis", "rediss"),
    refuses=BRAND.refuses,
)
