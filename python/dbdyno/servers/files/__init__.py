"""No database: an empty folder, for tools that put load on a file system."""
