"""Clients of what is elsewhere: servers by HTTP, NATS and SQL, programs, the compiler; and what fences them in."""
