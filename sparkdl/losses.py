"""Losses: how far the output of a network is from the label, one number per example."""

from sparkdl.nn import losses as _losses
from sparkdl.nn.losses import *  # noqa: F403

vars().update(__all__=_losses.__all__)  # for help(); type checkers follow only the star
