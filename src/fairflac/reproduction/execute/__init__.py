"""Who makes the runs of a table: processes of this machine, or a Ray cluster."""
