"""All TrainingMasters by name, as configurations name them."""

from sparkdl.training.all_reduce import AllReduceSGD
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.parameter_server import ParameterServer
from sparkdl.training.sharing import GradientSharing

CLASSES = (
    AllReduceSGD,
    GradientSharing,
    ParameterAveraging,
    ParameterServer,
)
MASTERS = {master.__name__: master for master in CLASSES}
