"""The cuda backend on the host with a double of NCCL, for MODULES."""

import os

from sparkdl.engine.backends.cuda.adapters import Libraries
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.libraries.nccl import Nccl
from tests.support.cuda import nccl
from tests.support.cuda.host_driver import HostDriver


def made(driver, **options):
    """The backend of a driver; options are those of the double."""
    return Cuda(driver, Libraries(exchange=Nccl(nccl.Nccl(driver, **options))))


MEETINGS = "NCCL_DOUBLE_FOLDER"  # where ranks meet, for who is killed leaves it as it is
OWN = HostDriver(id=f"GPU-of-process-{os.getpid()}")  # no other rank's, as NCCL wants it
BACKEND = made(OWN, folder=os.environ.get(MEETINGS))
