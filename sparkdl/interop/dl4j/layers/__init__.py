"""Rules for Deeplearning4j's layers: functions from a LayerCall to a Place in the graph."""

from sparkdl.interop.dl4j.layers.convolution import CONVOLUTION
from sparkdl.interop.dl4j.layers.dense import DENSE
from sparkdl.interop.dl4j.layers.plain import PLAIN
from sparkdl.interop.dl4j.layers.recurrent import RECURRENT
from sparkdl.interop.dl4j.layers.wrappers import WRAPPERS

RULES = DENSE | CONVOLUTION | RECURRENT | PLAIN | WRAPPERS

__all__ = ["RULES"]
