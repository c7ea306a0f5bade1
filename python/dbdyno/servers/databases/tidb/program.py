"""The program that TiDB is built as."""

PROGRAM = "tidb-server"
"""Its name, and that of its folder in `programs`."""
VERSION = "2025.11.26"
"""The day of the commit of TiDB's main branch that is pinned there; no release can be had as a
module, and the program itself has a placeholder for a version."""
