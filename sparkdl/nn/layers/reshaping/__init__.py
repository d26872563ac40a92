"""Layers that arrange, cut, pad or repeat the numbers of an example."""
