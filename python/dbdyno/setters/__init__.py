"""Temporary changes to this machine for a run, each with its undo; one file per setter.

`registry.py` finds the files; `setter.py` defines their interface. A study names setters under
`[host]`; `outfit.apply_all` applies them.
"""
