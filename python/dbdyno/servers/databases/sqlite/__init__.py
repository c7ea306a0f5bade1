"""SQLite: a file in the run's folder, opened by the engine itself."""
