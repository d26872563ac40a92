"""Layers that change what passes through them at random while training."""
