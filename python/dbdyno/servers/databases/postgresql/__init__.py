"""PostgreSQL: from a wheel, from Maven, installed, or somebody else's."""
