"""Pages that show fits: one HTML file each, which needs no network."""
