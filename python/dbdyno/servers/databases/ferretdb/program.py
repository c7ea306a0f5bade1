"""The program that FerretDB is built as."""

PROGRAM = "ferretdb1"
"""Its name, and that of its folder in `programs`."""
