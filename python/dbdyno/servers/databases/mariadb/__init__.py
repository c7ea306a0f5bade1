"""MariaDB servers: MySQL's protocol and configuration, other packages and system tables."""
