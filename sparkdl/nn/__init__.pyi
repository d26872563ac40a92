"""Networks and their parts as type checkers see them; __init__.py loads them when they are used."""

from sparkdl.nn.activations import ActivationFunction as ActivationFunction
from sparkdl.nn.clipping import ClipArrayNorm as ClipArrayNorm
from sparkdl.nn.clipping import ClipLayerNorm as ClipLayerNorm
from sparkdl.nn.clipping import ClipNorm as ClipNorm
from sparkdl.nn.clipping import Clipping as Clipping
from sparkdl.nn.clipping import ClipValue as ClipValue
from sparkdl.nn.clipping import UnitArrayNorm as UnitArrayNorm
from sparkdl.nn.clipping import UnitLayerNorm as UnitLayerNorm
from sparkdl.nn.constraints import Constraint as Constraint
from sparkdl.nn.constraints import MaxNorm as MaxNorm
from sparkdl.nn.constraints import MinMaxNorm as MinMaxNorm
from sparkdl.nn.constraints import NonNegative as NonNegative
from sparkdl.nn.constraints import UnitNorm as UnitNorm
from sparkdl.nn.execution.forward import Forward as Forward
from sparkdl.nn.execution.forward import forward as forward
from sparkdl.nn.execution.initial_vectors import initial_buffers as initial_buffers
from sparkdl.nn.execution.initial_vectors import initial_params as initial_params
from sparkdl.nn.execution.initial_vectors import initial_slots as initial_slots
from sparkdl.nn.initializers import Initializer as Initializer
from sparkdl.nn.layers import *  # noqa: F403
from sparkdl.nn.layers.core.run import Run as Run
from sparkdl.nn.layers.outputs.base import ScoredLayer as ScoredLayer
from sparkdl.nn.layout import Layout as Layout
from sparkdl.nn.losses import Loss as Loss
from sparkdl.nn.networks.base import Conf as Conf
from sparkdl.nn.networks.document import conf_from_dict as conf_from_dict
from sparkdl.nn.networks.document import conf_from_json as conf_from_json
from sparkdl.nn.networks.graph import GraphConf as GraphConf
from sparkdl.nn.networks.graph import Vertex as Vertex
from sparkdl.nn.networks.graph_builder import GraphBuilder as GraphBuilder
from sparkdl.nn.networks.pretraining import pretraining as pretraining
from sparkdl.nn.networks.sequential import NetworkConf as NetworkConf
from sparkdl.nn.optimization.update import update_params as update_params
from sparkdl.nn.optimizers import *  # noqa: F403
from sparkdl.nn.schedules import *  # noqa: F403
from sparkdl.nn.solvers import *  # noqa: F403
from sparkdl.nn.tables.embedding_bag import EmbeddingBag as EmbeddingBag
from sparkdl.nn.weight_noise import DropConnect as DropConnect
from sparkdl.nn.weight_noise import GaussianWeightNoise as GaussianWeightNoise
from sparkdl.nn.weight_noise import WeightNoise as WeightNoise
