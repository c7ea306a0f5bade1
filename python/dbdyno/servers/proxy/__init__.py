"""What can stand before a server: a file a kind of proxy, and the server behind several."""
