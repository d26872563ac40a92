"""All TrainingMasters by name, as configurations name them."""

from sparkdl.config import Of
from sparkdl.training.all_reduce import AllReduceSGD
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.block_momentum import BlockMomentum
from sparkdl.training.elastic import ElasticAveraging
from sparkdl.training.local_sgd import LocalSGD
from sparkdl.training.master import TrainingMaster
from sparkdl.training.parameter_server import ParameterServer
from sparkdl.training.sharing import GradientSharing

CLASSES = (
    AllReduceSGD,
    BlockMomentum,
    ElasticAveraging,
    GradientSharing,
    LocalSGD,
    ParameterAveraging,
    ParameterServer,
)
MASTERS = {master.__name__: master for master in CLASSES}


def training_master(options):
    """Returns the TrainingMaster that `options` is, names, or describes by a "type"."""
    return Of(family=TrainingMaster).check(options, "type")
