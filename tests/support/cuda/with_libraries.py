"""The backend "cuda" on the host with doubles of NVIDIA's libraries, for MODULES."""

from sparkdl.engine.backends.cuda.adapters import Libraries
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.libraries.cublaslt import CublasLt
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn import CudnnRnn
from tests.support.cuda import doubles
from tests.support.cuda.host_driver import HostDriver

DRIVER = HostDriver()
LIBRARIES = Libraries(
    products=CublasLt(DRIVER, doubles.cublaslt()), recurrent=CudnnRnn(DRIVER, doubles.cudnn_rnn())
)
BACKEND = Cuda(DRIVER, LIBRARIES)
