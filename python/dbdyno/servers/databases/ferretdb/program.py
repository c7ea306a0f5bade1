"""The program that FerretDB is built as."""

PROGRAM = "ferretdb"
"""Its name, and that of its folder in `programs`."""
