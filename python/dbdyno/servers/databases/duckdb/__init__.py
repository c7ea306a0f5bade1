"""DuckDB: a file in the run's folder, asked through the database's own command-line program."""
