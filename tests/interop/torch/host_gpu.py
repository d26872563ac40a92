"""torch on the double of a GPU, whose memory is the host's: for torch a GPU, with CPU tensors."""

from contextlib import contextmanager

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import Owner
from sparkdl.interop.torch import module_device
from tests.support.cuda.spawned import OnHost, here


class HostGpu(module_device.Gpu):
    """See Gpu. torch computes at once, so what is on the stream has to run before."""

    name, numbers = "cpu", ()

    def __init__(self, lent, tf32):
        self._lent = lent

    def tensor(self, name, vector):
        import torch

        memory = self._lent.memory(name)
        owner = Owner(memory.address, memory.nbytes, memory)
        return torch.from_numpy(np.asarray(owner).view(memory.dtype))

    @contextmanager
    def computing(self, *written):
        with self._lent.computing(*written):
            yield


class OnHostGpu(OnHost):
    """A transform that changes no batch; see OnHost. Modules compute on a HostGpu from then on."""

    def __reduce__(self):
        return there, (self.module,)


def there(module):
    here(module)
    module_device.Gpu = HostGpu
    return OnHostGpu(module)
