"""The worker side: takes orders, runs tools, reports outcomes. It never starts a step and has no store."""
