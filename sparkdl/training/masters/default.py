"""The TrainingMaster of a fit that names none."""

from sparkdl.nn.networks.base import Conf
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging


def default_master(conf: Conf) -> TrainingMaster:
    """Returns ParameterAveraging, or AllReduceSGD for a network with tables, which it exchanges."""
    return AllReduceSGD() if conf.bags else ParameterAveraging()
