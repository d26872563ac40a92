"""What every reader shares: paths, splits of files, batches of a few megabytes."""
