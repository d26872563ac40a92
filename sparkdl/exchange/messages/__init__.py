"""Messages of JSON and arrays between two processes."""
