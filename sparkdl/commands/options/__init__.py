"""What the command line and its files say, parsed."""
