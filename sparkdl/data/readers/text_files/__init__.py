"""Text files: numbers between commas, and characters."""
