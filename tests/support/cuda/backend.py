"""The cuda backend on the host, for MODULES; its device has the id that the task's cluster gave."""

from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.device_grant import GRANT
from tests.support.cuda.host_driver import HostDriver

BACKEND = Cuda(HostDriver(id=f"GPU-{(*GRANT.addresses, 0)[0]}"))
