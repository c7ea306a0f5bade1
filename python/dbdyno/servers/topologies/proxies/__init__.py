"""Proxies in front of a server: one file per kind."""
