"""Changes to this machine for the length of a run, each with its undo; a file a setter.

`registry.py` finds the files; `setter.py` says what one looks like. A study names setters under
`[host]`; `outfit.apply_all` carries out what it asked for.
"""
