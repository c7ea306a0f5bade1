"""One run, made of parts by purpose: which run it is, what serves, what loads, what was measured.

`Run` folds over them; nobody outside assigns a field of one.
"""

from dbdyno.conduct.run.engine_load import EngineLoad
from dbdyno.conduct.run.run import Run

__all__ = ["EngineLoad", "Run"]
