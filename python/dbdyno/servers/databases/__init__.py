"""What servers hold and answer: one folder for each kind of database."""
