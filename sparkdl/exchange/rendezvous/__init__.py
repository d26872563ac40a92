"""Rendezvous, at which processes find each other and become members of a group."""
