"""The available Valkey servers and their sources."""

from functools import partial

from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.kind import open_as
from dbdyno.servers.kind import Kind
from dbdyno.servers.sources.suite import packages_of

BRAND = Brand("valkey", "Valkey")

KIND = Kind(
    name=BRAND.kind,
    open=partial(open_as, BRAND),
    driver="redis",
    suite_packages=partial(packages_of, BRAND.kind),
    installed=BRAND.installed,
    installed_at=BRAND.installed_at,
    debian_package="valkey-server",
    url_schemes=("valkey", "valkeys"),
    refuses=BRAND.refuses,
)
