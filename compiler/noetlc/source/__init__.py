"""The text of a playbook: bytes to YAML nodes that know where they were written."""
