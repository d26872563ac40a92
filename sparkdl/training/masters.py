"""All TrainingMasters by name, as configurations name them."""

from sparkdl.training.all_reduce import AllReduceSGD
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.sharing import GradientSharing

MASTERS = {
    master.__name__: master for master in (AllReduceSGD, GradientSharing, ParameterAveraging)
}
