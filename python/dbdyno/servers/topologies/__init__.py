"""What stands around a server: the server by itself, and several that work together."""
