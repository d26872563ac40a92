"""A driver that computes nothing and logs all: for networks that are too large to run on the host.

Its device's memory is addresses alone, where nothing may be read or written.
"""

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from tests.support.cuda.host_driver import ALIGNMENT, Function, HostDriver


class RecordingDriver(HostDriver):
    """See HostDriver; `allocated` is [(address, size)]."""

    def __init__(self):
        super().__init__()
        self.allocated, self.next = [], 1 << 44

    def allocate(self, size):
        assert not self.capturing, "memory is allocated while a graph is captured"
        address, self.next = self.next, self.next + -(-size // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        self.log.append(("allocate", size))
        self.allocated.append((address, size))
        return DeviceArray.at(address, size)

    def compile(self, text):
        return text

    def function(self, module, name):
        assert f" {name}(" in module, f"no kernel {name}"
        return Function(name, lambda *words: None)

    def put(self, stream, call, keep=None):
        if stream.captured is not None:
            stream.captured.append((call, keep))
