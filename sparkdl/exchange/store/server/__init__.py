"""A server of a key-value store: its keys, its rules, and the requests that it answers."""
