"""Messages between processes: as bytes, and in the order in which those that wait are sent."""
