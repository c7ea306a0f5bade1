"""Load generators other than the engine, one module each; `registry.py` finds them."""
