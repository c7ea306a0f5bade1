"""Valkey: its names, versions and sources. The rest is Redis's."""
