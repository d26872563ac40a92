"""All TrainingMasters by name, as configurations name them."""

from sparkdl.training.all_reduce import AllReduceSGD
from sparkdl.training.averaging import ParameterAveraging

MASTERS = {master.__name__: master for master in (AllReduceSGD, ParameterAveraging)}
