"""Ways of getting a packaged server: one module a client program."""
