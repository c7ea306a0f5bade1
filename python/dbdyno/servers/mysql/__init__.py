"""MySQL servers; what they share with MariaDB's is here too."""
