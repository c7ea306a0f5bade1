"""How servers are arranged: one by itself, one behind a proxy, several that work together."""
