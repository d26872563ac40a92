"""Schedules: how the learning rate changes while a network trains."""

from sparkdl.nn.schedules.base import Schedule
from sparkdl.nn.schedules.cosine import Cosine
from sparkdl.nn.schedules.cycle import Cycle
from sparkdl.nn.schedules.exponential import Exponential
from sparkdl.nn.schedules.fixed import Fixed
from sparkdl.nn.schedules.inverse import Inverse
from sparkdl.nn.schedules.multi_step import MultiStep
from sparkdl.nn.schedules.one_cycle import OneCycle
from sparkdl.nn.schedules.piecewise_constant import PiecewiseConstant
from sparkdl.nn.schedules.polynomial import Polynomial
from sparkdl.nn.schedules.ramp import Ramp
from sparkdl.nn.schedules.sigmoid import Sigmoid
from sparkdl.nn.schedules.step import Step
from sparkdl.nn.schedules.warm_up import WarmUp
