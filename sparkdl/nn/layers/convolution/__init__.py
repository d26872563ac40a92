"""Convolution layers, which apply filters to windows."""
