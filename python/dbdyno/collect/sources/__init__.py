"""One module a source of metrics, each with its `COLLECTOR`; `registry.py` finds them."""
