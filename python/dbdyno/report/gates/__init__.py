"""Conditions that must hold for the numbers to answer the question."""
