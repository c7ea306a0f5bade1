"""MongoDB, and all that servers of its protocol have in common: servers of documents."""
