"""Parts shared by the readers: paths, splits of files, batches of a few megabytes."""
