"""Places in a study's file, by keys. Apart from the file's schema, which takes long to import."""

KeyPath = tuple[str, ...]
"""Place in the file: keys, from the outermost."""


def level_path(factor: str, level: str) -> KeyPath:
    """The table of a factor's level: `server.NAME`, or `factor.FACTOR.NAME`."""
    return ("server", level) if factor == "server" else ("factor", factor, level)
