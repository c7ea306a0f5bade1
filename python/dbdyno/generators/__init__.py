"""Programs other than the engine that put load on, one module each; `registry.py` finds them."""
