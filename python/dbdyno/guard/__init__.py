"""What outlives a crash: processes, folders and undos that a small process of ours owns.

Standard library only, and nothing is imported here: the guard runs beside a server being measured.
"""
