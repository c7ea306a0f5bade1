"""Shows the studies of a store in a browser, those that run while they do.

Only reads the store: it knows no study that is carried out, and a study knows nothing of it.
"""
