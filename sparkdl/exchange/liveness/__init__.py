"""Who is alive: heartbeats, pauses of this process, and whom to give up on."""
