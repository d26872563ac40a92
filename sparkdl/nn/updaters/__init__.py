"""Updaters, which turn a gradient into a step."""

from sparkdl.nn.updaters.ada_belief import AdaBelief
from sparkdl.nn.updaters.ada_delta import AdaDelta
from sparkdl.nn.updaters.ada_grad import AdaGrad
from sparkdl.nn.updaters.ada_max import AdaMax
from sparkdl.nn.updaters.adam import Adam
from sparkdl.nn.updaters.adam_hat import AdamHat
from sparkdl.nn.updaters.adam_w import AdamW
from sparkdl.nn.updaters.ams_grad import AMSGrad
from sparkdl.nn.updaters.base import Updater
from sparkdl.nn.updaters.lamb import Lamb
from sparkdl.nn.updaters.lars import Lars
from sparkdl.nn.updaters.momentum import Momentum
from sparkdl.nn.updaters.nadam import Nadam
from sparkdl.nn.updaters.nesterov import Nesterov
from sparkdl.nn.updaters.rms_prop import RmsProp
from sparkdl.nn.updaters.sgd import Sgd
