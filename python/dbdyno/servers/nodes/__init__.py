"""How a process, file or address is started, watched, stopped and removed, whatever it serves."""
