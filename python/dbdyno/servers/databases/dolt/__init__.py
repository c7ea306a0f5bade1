"""Dolt: MySQL's protocol on tables that are versioned like a Git repository."""
