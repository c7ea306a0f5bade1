"""dbdyno: a dynamometer for databases.

A study file asks a question; the lab sets servers up, has the engine load them, and keeps what was
measured so that anybody can read it again.
"""

__version__ = "0.1.0"
