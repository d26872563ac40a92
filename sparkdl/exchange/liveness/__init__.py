"""Liveness: heartbeats, detection of this process's pauses, and when to give up on a peer."""
