"""What is written: the page, its pictures and exports."""
