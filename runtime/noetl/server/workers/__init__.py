"""The workers of a server, as it knows them: who is there, the leases of their claims, and where their loops run."""
