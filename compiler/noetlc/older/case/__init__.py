"""`case` of a step: its nodes, its reader, and the three passes that make routers and chains of it."""
