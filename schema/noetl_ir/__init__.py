"""Everything that crosses a process boundary, and the pure functions that both sides must share."""
