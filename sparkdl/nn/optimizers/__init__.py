"""Optimizers: update rules that turn a gradient into a step."""

from sparkdl.nn.optimizers.ada_belief import AdaBelief
from sparkdl.nn.optimizers.ada_delta import AdaDelta
from sparkdl.nn.optimizers.ada_grad import AdaGrad
from sparkdl.nn.optimizers.ada_max import AdaMax
from sparkdl.nn.optimizers.adam import Adam
from sparkdl.nn.optimizers.adam_hat import AdamHat
from sparkdl.nn.optimizers.adam_w import AdamW
from sparkdl.nn.optimizers.ams_grad import AMSGrad
from sparkdl.nn.optimizers.base import Optimizer
from sparkdl.nn.optimizers.ftrl import Ftrl
from sparkdl.nn.optimizers.lamb import Lamb
from sparkdl.nn.optimizers.lars import Lars
from sparkdl.nn.optimizers.momentum import Momentum
from sparkdl.nn.optimizers.nadam import Nadam
from sparkdl.nn.optimizers.nesterov import Nesterov
from sparkdl.nn.optimizers.rms_prop import RmsProp
from sparkdl.nn.optimizers.sgd import Sgd

__all__ = [
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdaMax",
    "AdamHat",
    "AdamW",
    "AMSGrad",
    "Ftrl",
    "Lamb",
    "Lars",
    "Momentum",
    "Nadam",
    "Nesterov",
    "Optimizer",
    "RmsProp",
    "Sgd",
]
