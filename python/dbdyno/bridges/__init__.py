"""What other tools have measured, read from what they printed and put into a store.

A file a tool, with its `BRIDGE`. The parsers are the generators' own, where there is a generator.
"""
