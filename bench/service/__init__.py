"""Whether service times say what a proxy saw that the kernel stamped."""
