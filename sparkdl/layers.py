"""Layers: the parts of a network."""

from sparkdl.nn import layers as _layers
from sparkdl.nn.layers import *  # noqa: F403

vars().update(__all__=_layers.__all__)  # for help(); type checkers follow only the star
