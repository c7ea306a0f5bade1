"""MySQL servers, and the parts they share with MariaDB."""
