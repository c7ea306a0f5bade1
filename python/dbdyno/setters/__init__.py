"""Changes to this machine for the length of a run, each with its undo; a file a setter."""
