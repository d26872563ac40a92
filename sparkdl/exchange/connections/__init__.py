"""Connections between processes of a job: addresses, sockets, TLS, and who is let in."""
