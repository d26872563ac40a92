"""Layers: the parts of a network."""

from sparkdl.nn.layers.activation import Activation
from sparkdl.nn.layers.avg_pool2d import AvgPool2D
from sparkdl.nn.layers.base import Layer
from sparkdl.nn.layers.batch_norm import BatchNorm
from sparkdl.nn.layers.conv2d import Conv2D
from sparkdl.nn.layers.dense import Dense
from sparkdl.nn.layers.dropout import Dropout
from sparkdl.nn.layers.flatten import Flatten
from sparkdl.nn.layers.global_pool import GlobalPool
from sparkdl.nn.layers.max_pool2d import MaxPool2D
from sparkdl.nn.layers.output import Output
