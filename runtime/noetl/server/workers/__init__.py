"""What a server knows of its workers: who is there, the leases of their claims, and where their loops run."""
