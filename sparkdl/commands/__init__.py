"""What the command line does: one command a file, and the run configuration that they share."""
