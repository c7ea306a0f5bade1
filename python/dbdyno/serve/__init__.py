"""Shows the studies of a store in a browser, running ones live.

It only reads the store: it never talks to the process that carries out a study.
"""
