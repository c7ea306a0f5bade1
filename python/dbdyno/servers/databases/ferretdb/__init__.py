"""FerretDB: MongoDB's protocol on another database."""
