"""Recurrent operations: a node of the graph walks over all steps of its sequences."""

from sparkdl.engine.ops.recurrent.gru import gru
from sparkdl.engine.ops.recurrent.lstm import lstm
from sparkdl.engine.ops.recurrent.simple_rnn import simple_rnn
