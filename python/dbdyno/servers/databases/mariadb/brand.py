"""How MariaDB differs from MySQL, by whose files it is served."""

from dbdyno.servers.databases.mysql.brand import Brand

BRAND = Brand("mariadb", "MariaDB", ("mariadbd", "mysqld"), "mariadb:11.4.5")
