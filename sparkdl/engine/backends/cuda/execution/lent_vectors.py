"""Device vectors that another library of this process computes with, too."""

from contextlib import contextmanager


class LentVectors:
    """See sparkdl.engine.backends.lent.Lent.

    Parameters
    ----------
    device : Device
    vectors : {name: DeviceMirror}
    """

    def __init__(self, device, vectors):
        self._device, self._vectors = device, vectors
        self.number = device.driver.number

    def memory(self, name):
        return self._vectors[name].original

    @contextmanager
    def computing(self, *written):
        """See Lent.computing; no other thread queues the backend's work on the device meanwhile."""
        device = self._device
        with device.lock:
            device.driver.use()
            for mirror in self._vectors.values():
                mirror.upload()
            try:
                yield device.driver.address(device.stream)
            finally:
                for name in written:
                    self._vectors[name].mark_written()

    def mark(self):
        return self._device.mark(self._device.stream)
