"""Files and streams ↔ the model: study files, the engine's records, what a run folder holds.

Every format carries a schema version; every error names the file and the place in it.
"""
