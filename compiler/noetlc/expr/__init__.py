"""Expressions and templates: text to nodes, nodes to text, and what the names in them mean."""
