"""Translations of Caffe's layers, one function per type, to layers of a Translation."""

from sparkdl.interop.caffe.layers.common import COMMON
from sparkdl.interop.caffe.layers.data import DATA
from sparkdl.interop.caffe.layers.losses import LOSSES
from sparkdl.interop.caffe.layers.neuron import NEURONS
from sparkdl.interop.caffe.layers.python import PYTHON
from sparkdl.interop.caffe.layers.recurrent import RECURRENT
from sparkdl.interop.caffe.layers.shapes import SHAPES
from sparkdl.interop.caffe.layers.vision import VISION

LAYERS = NEURONS | VISION | COMMON | SHAPES | DATA | LOSSES | RECURRENT | PYTHON
