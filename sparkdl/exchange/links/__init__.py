"""Links of a group: non-blocking connections that carry frames."""
