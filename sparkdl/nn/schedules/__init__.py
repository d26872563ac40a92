"""Schedules: how the learning rate changes in training."""

from sparkdl.nn.schedules.base import Schedule
from sparkdl.nn.schedules.cosine import CosineSchedule
from sparkdl.nn.schedules.cosine_restarts import CosineRestartsSchedule
from sparkdl.nn.schedules.cycle import CycleSchedule
from sparkdl.nn.schedules.exponential import ExponentialSchedule
from sparkdl.nn.schedules.fixed import FixedSchedule
from sparkdl.nn.schedules.inverse import InverseSchedule
from sparkdl.nn.schedules.multi_step import MultiStepSchedule
from sparkdl.nn.schedules.one_cycle import OneCycleSchedule
from sparkdl.nn.schedules.piecewise_constant import PiecewiseConstantSchedule
from sparkdl.nn.schedules.polynomial import PolynomialSchedule
from sparkdl.nn.schedules.ramp import RampSchedule
from sparkdl.nn.schedules.sequential import SequentialSchedule
from sparkdl.nn.schedules.sigmoid import SigmoidSchedule
from sparkdl.nn.schedules.step import StepSchedule
from sparkdl.nn.schedules.warm_up import WarmUpSchedule

__all__ = [
    "CosineRestartsSchedule",
    "CosineSchedule",
    "CycleSchedule",
    "ExponentialSchedule",
    "FixedSchedule",
    "InverseSchedule",
    "MultiStepSchedule",
    "OneCycleSchedule",
    "PiecewiseConstantSchedule",
    "PolynomialSchedule",
    "RampSchedule",
    "Schedule",
    "SequentialSchedule",
    "SigmoidSchedule",
    "StepSchedule",
    "WarmUpSchedule",
]
