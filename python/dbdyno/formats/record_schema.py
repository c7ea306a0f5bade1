"""The version of what engine and lab exchange, apart: who looks for the engine needs no more."""

SCHEMA = 2
"""Version of the run spec and of the record stream; any other is refused."""
