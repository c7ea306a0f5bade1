"""What a fault does to a server, and takes back; one file for each way."""
