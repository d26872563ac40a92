"""Models and checkpoints on disk."""
