"""Constraints on weights, enforced after each update."""

from sparkdl.nn.constraints import Constraint, MaxNorm, MinMaxNorm, NonNegative, UnitNorm

__all__ = ["Constraint", "MaxNorm", "MinMaxNorm", "NonNegative", "UnitNorm"]
