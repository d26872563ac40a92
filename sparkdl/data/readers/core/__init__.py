"""Parts that the readers share: paths, splits of files, batches of a few megabytes."""
