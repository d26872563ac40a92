"""Worker processes forked from a server that has loaded their modules."""
