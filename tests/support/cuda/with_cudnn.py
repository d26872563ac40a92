"""The backend "cuda" on the host with a double of cuDNN's module, for MODULES."""

from sparkdl.engine.backends.cuda.adapters import Libraries
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.cudnn.adapter import Cudnn
from tests.support.cuda import cudnn_double
from tests.support.cuda.host_driver import HostDriver

DRIVER = HostDriver()
BACKEND = Cuda(DRIVER, Libraries(graphs=Cudnn(cudnn_double, DRIVER)))
