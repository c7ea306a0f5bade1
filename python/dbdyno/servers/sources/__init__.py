"""Where programs of servers and tools come from: provision texts, sources and the cache."""
