"""No database: an empty folder, for tools that load a file system."""
