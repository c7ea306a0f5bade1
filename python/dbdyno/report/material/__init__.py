"""What a report is made of: the runs of a store as they were measured."""
