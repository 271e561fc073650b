"""Clients of servers elsewhere: HTTP with its kept connections, NATS, and Google's tokens, inside the fence."""
