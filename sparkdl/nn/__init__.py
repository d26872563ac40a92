"""Networks, layers, optimizers, schedules and the other parts that a user configures."""

from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.clipping import (
    ClipArrayNorm,
    ClipLayerNorm,
    ClipNorm,
    Clipping,
    ClipValue,
    UnitArrayNorm,
    UnitLayerNorm,
)
from sparkdl.nn.constraints import Constraint, MaxNorm, MinMaxNorm, NonNegative, UnitNorm
from sparkdl.nn.execution.forward import Forward, forward
from sparkdl.nn.execution.initial_vectors import initial_buffers, initial_params, initial_slots
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers import *  # noqa: F403
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.layout import Layout
from sparkdl.nn.losses import Loss
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.document import conf_from_dict, conf_from_json
from sparkdl.nn.networks.graph import GraphConf, Vertex
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.networks.pretraining import pretraining
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.optimization.update import update_params
from sparkdl.nn.optimizers import *  # noqa: F403
from sparkdl.nn.schedules import *  # noqa: F403
from sparkdl.nn.solvers import *  # noqa: F403
from sparkdl.nn.weight_noise import DropConnect, GaussianWeightNoise, WeightNoise
