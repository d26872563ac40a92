"""Registry of the TrainingMasters, by the names used in configurations."""

from typing import Any

from sparkdl.config import Of
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

CLASSES = (
    AllReduceSGD,
    BlockMomentum,
    ElasticAveraging,
    GradientSharing,
    LocalSGD,
    ParameterAveraging,
    ParameterServer,
    PipelineParallel,
    TensorParallel,
)
MASTERS = {master.__name__: master for master in CLASSES}


def training_master(options: Any) -> TrainingMaster:
    """Returns `options` if it is a TrainingMaster, or the one it names or describes by a "type"."""
    return Of(family=TrainingMaster).check(options, where="")
