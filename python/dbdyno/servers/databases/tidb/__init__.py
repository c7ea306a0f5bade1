"""TiDB: MySQL's protocol, in a single process with a store of its own (unistore)."""
