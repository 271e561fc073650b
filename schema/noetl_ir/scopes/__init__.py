"""Which names an expression may use where, and what they mean."""
