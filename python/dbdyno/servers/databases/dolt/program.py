"""The program that Dolt is built as."""

PROGRAM = "dolt"
"""Its name, and that of its folder in `programs`."""
VERSION = "1.59.10"
"""What the module pinned there says of itself."""
