"""Rendezvous, where processes find each other and become the members of a group."""
