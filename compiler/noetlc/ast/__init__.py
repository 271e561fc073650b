"""The syntax tree of a playbook, what can be asked of it, and its source text."""
