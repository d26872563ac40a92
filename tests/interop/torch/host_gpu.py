"""A test double of a GPU for torch: its memory is the host's, its tensors are CPU tensors."""

from contextlib import contextmanager

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import Owner
from sparkdl.interop.torch import module_device
from tests.support.cuda.spawned import OnHost, here


class HostGpu(module_device.Gpu):
    """A Gpu for tests. torch computes immediately here, so the stream's pending work runs first."""

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
    """An OnHost transform: leaves batches alone, and once unpickled makes modules use a HostGpu."""

    def __reduce__(self):
        return there, (self.module,)


def there(module):
    here(module)
    module_device.Gpu = HostGpu
    return OnHostGpu(module)
