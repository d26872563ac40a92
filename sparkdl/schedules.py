"""Schedules: how the learning rate changes while a network trains."""

from sparkdl.nn import schedules as _schedules
from sparkdl.nn.schedules import *  # noqa: F403

vars().update(__all__=_schedules.__all__)  # for help(); type checkers follow only the star
