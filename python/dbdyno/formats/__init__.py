"""Files and streams ↔ the model: study files, the engine's records, contents of run folders.

Every format has a schema version; every error names the file and the place in it.
"""
