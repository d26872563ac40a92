"""`RULES`: for each Keras layer class, a function that adds sparkdl layers."""

from functools import partial

from sparkdl.interop.keras.layers.applications import APPLICATIONS
from sparkdl.interop.keras.layers.arithmetic import ARITHMETIC
from sparkdl.interop.keras.layers.attention import ATTENTION
from sparkdl.interop.keras.layers.convolution import CONVOLUTION
from sparkdl.interop.keras.layers.dense import DENSE
from sparkdl.interop.keras.layers.joining import JOINING
from sparkdl.interop.keras.layers.normalization import NORMALIZATION
from sparkdl.interop.keras.layers.pooling import POOLING
from sparkdl.interop.keras.layers.recurrent import RECURRENT
from sparkdl.interop.keras.layers.reshaping import RESHAPING
from sparkdl.interop.keras.layers.standardization import STANDARDIZATION
from sparkdl.interop.keras.layers.wrappers import time_distributed

PLAIN = (
    APPLICATIONS
    | ARITHMETIC
    | ATTENTION
    | CONVOLUTION
    | DENSE
    | JOINING
    | NORMALIZATION
    | POOLING
    | RECURRENT
    | RESHAPING
    | STANDARDIZATION
)
RULES = PLAIN | {"TimeDistributed": partial(time_distributed, rules=PLAIN)}
