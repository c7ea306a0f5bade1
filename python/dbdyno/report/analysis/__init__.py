"""Figures and verdicts, before any wording."""
