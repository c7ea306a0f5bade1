"""The program that FerretDB is built as."""

PROGRAM = "ferretdb"
"""Its name, and that of its folder in `programs`."""
PROGRAM_2 = "ferretdb2"
"""The same of FerretDB 2."""
