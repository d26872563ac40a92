"""Liveness: heartbeats, pauses of this process, and the members to give up on."""
