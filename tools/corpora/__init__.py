"""Holds the product against playbooks that others wrote: what compiles, migrates, and runs as meant."""
