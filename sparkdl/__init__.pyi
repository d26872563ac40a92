"""The public names, for type checkers and editors; at run time __init__.py loads them when used."""

from sparkdl import activations as activations
from sparkdl import clipping as clipping
from sparkdl import codecs as codecs
from sparkdl import constraints as constraints
from sparkdl import errors as errors
from sparkdl import evaluations as evaluations
from sparkdl import initializers as initializers
from sparkdl import layers as layers
from sparkdl import listeners as listeners
from sparkdl import losses as losses
from sparkdl import masters as masters
from sparkdl import mlflow as mlflow
from sparkdl import optimizers as optimizers
from sparkdl import readers as readers
from sparkdl import schedules as schedules
from sparkdl import solvers as solvers
from sparkdl import transforms as transforms
from sparkdl import weight_noise as weight_noise
from sparkdl import zoo as zoo
from sparkdl.data import Batch as Batch
from sparkdl.data import digits as digits
from sparkdl.data import write_lmdb as write_lmdb
from sparkdl.errors import *  # noqa: F403
from sparkdl.evaluations import *  # noqa: F403
from sparkdl.layers import *  # noqa: F403
from sparkdl.listeners import *  # noqa: F403
from sparkdl.masters import *  # noqa: F403
from sparkdl.nn import EmbeddingBag as EmbeddingBag
from sparkdl.nn import GraphBuilder as GraphBuilder
from sparkdl.nn import GraphConf as GraphConf
from sparkdl.nn import NetworkConf as NetworkConf
from sparkdl.nn import Vertex as Vertex
from sparkdl.optimizers import *  # noqa: F403
from sparkdl.readers import *  # noqa: F403
from sparkdl.spark import SparkNetwork as SparkNetwork
from sparkdl.spark import SparkWorkers as SparkWorkers
from sparkdl.spark import Tokenizer as Tokenizer
from sparkdl.spark import doctor as doctor
from sparkdl.spark import predict_column as predict_column
from sparkdl.training.generation import generate as generate
from sparkdl.training.network import Network as Network
from sparkdl.training.saving.checkpoint import Checkpoints as Checkpoints
from sparkdl.training.saving.state import TrainState as TrainState
from sparkdl.training.transfer import replace_optimizer as replace_optimizer
from sparkdl.training.transfer import replace_output as replace_output
from sparkdl.training.workers.local import LocalWorkers as LocalWorkers

__version__: str
