"""A folder of files: always available."""

from dbdyno.servers.databases.files.server import FilesServer
from dbdyno.servers.kind import Kind

KIND = Kind(name="files", open=FilesServer, embedded_version="1")
