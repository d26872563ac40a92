"""Server of a key-value store: its keys, its consistency rules, and the requests it answers."""
