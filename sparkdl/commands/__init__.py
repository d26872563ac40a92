"""The sparkdl command line: one module for each command, and the run configuration they share."""
