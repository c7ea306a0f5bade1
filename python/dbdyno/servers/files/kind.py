"""A folder is always to be had."""

from dbdyno.servers.files.server import FilesServer
from dbdyno.servers.protocol import Kind

KIND = Kind(name="files", open=FilesServer, embedded_version="1")
