"""How figures and tables are written: units, uncertainty, plain words."""
