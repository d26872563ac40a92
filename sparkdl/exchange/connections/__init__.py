"""Connections between processes of a job: addresses, sockets, TLS, and authentication."""
