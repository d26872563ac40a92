"""Well-known networks: functions that return configurations to train, and take their options."""

from sparkdl.nn import zoo as _zoo
from sparkdl.nn.zoo import *  # noqa: F403

vars().update(__all__=_zoo.__all__)  # for help(); type checkers follow only the star
