"""Redis, and all that Valkey has in common with it: a server of keys in memory."""
