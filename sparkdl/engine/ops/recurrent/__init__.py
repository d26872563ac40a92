"""Recurrent operations: one node of the graph loops over all steps of its sequences."""

from sparkdl.engine.ops.recurrent.gru import gru
from sparkdl.engine.ops.recurrent.lstm import lstm
from sparkdl.engine.ops.recurrent.simple_rnn import simple_rnn
