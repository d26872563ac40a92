"""Worker's side of a key-value store: which server to ask, and how."""
