"""Namespaces: what a person writes of them, and the share of the workers that each has."""
