"""The version of what engine and lab exchange. It is a file of its own so that looking for the
engine does not import the records."""

SCHEMA = 2
"""Version of the run spec and of the record stream; any other is refused."""
