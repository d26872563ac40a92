"""Evaluations of a network, from counts that add up over executors."""

from sparkdl.training import evaluation as _evaluation
from sparkdl.training.evaluation import *  # noqa: F403

vars().update(__all__=_evaluation.__all__)  # for help(); type checkers follow only the star
