"""The default TrainingMaster of a fit."""

from sparkdl.nn.networks.base import Conf
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging


def default_master(conf: Conf) -> TrainingMaster:
    """Returns ParameterAveraging; AllReduceSGD if the network has tables, which it can exchange."""
    return AllReduceSGD() if conf.bags else ParameterAveraging()
