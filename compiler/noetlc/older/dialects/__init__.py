"""Which construct of which older dialect is taken by which reader: one table a dialect, one row a key."""
