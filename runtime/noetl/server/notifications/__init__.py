"""Who is told of which ends of executions."""
