"""Findings about a playbook: what they are, what their codes mean, how they are shown."""
