"""Files of other systems, read into networks and data, and written."""
