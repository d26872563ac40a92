"""Import and export of files of other frameworks: networks, weights, data."""
