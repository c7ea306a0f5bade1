"""The null driver comes with the engine."""

from dbdyno.servers.databases.null.server import NullServer
from dbdyno.servers.kind import Kind

KIND = Kind(
    name="null", open=NullServer, driver="null", embedded_version="1", url_schemes=("null",)
)
