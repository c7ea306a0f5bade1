"""No database: the engine answers its own statements, which shows what the client alone can do."""
