"""Proxies in front of a server: one file per kind, and the server behind them."""
