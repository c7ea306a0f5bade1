"""The available Valkey servers and their sources."""

from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.kind import kind_of

KIND = kind_of(Brand("valkey", "Valkey"))
