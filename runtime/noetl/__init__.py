"""The runtime: executes the net of a plan, event-sourced and durable."""
