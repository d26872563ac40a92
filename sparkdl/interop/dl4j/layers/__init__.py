"""Rules for the layers of Deeplearning4j: functions from a call of one to a place in our graph."""

from sparkdl.interop.dl4j.layers.convolution import CONVOLUTION
from sparkdl.interop.dl4j.layers.dense import DENSE
from sparkdl.interop.dl4j.layers.plain import PLAIN
from sparkdl.interop.dl4j.layers.recurrent import RECURRENT
from sparkdl.interop.dl4j.layers.wrappers import WRAPPERS

RULES = DENSE | CONVOLUTION | RECURRENT | PLAIN | WRAPPERS

__all__ = ["RULES"]
