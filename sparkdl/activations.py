"""Activation functions, which a layer applies to its weighted sums."""

from sparkdl.nn import activations as _activations
from sparkdl.nn.activations import *  # noqa: F403

vars().update(__all__=_activations.__all__)  # for help(); type checkers follow only the star
