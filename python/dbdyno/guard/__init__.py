"""Guards: small processes that own processes, folders and undos, and so survive a crash of the
lab.

Standard library only, and nothing is imported here: the guard runs beside a server being measured.
"""
