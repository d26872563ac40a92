"""TrainingMasters: the ways to train on several workers."""

from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.block_momentum.master import BlockMomentum
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.masters.gradient_sharing.master import GradientSharing
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.masters.pipeline_parallel.master import PipelineParallel
from sparkdl.training.masters.tensor_parallel.master import TensorParallel

__all__ = [
    "AllReduceSGD",
    "BlockMomentum",
    "ElasticAveraging",
    "GradientSharing",
    "LocalSGD",
    "ParameterAveraging",
    "ParameterServer",
    "PipelineParallel",
    "TensorParallel",
    "TrainingMaster",
]
