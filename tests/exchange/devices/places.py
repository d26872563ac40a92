"""Doubles of the GPU driver and NCCL for the members of a group in tests."""

from sparkdl.exchange.devices.device_links import link_devices
from tests.support.cuda.host_driver import HostDriver
from tests.support.cuda.nccl_backend import made


def backend_of(group, folder, device="GPU-{rank}", version=22707):
    """Returns a rank's backend; ranks may share a `device`. NCCL's double works in `folder`."""
    driver = HostDriver(id=device.format(rank=group.rank))
    return made(driver, version=version, folder=folder)


def double_of(backend):
    """Returns the double of the module cupy.cuda.nccl that a backend uses."""
    return backend.device.libraries.exchange.library


def device_group(group, folder, backend=None):
    """Returns (DeviceGroup of all ranks, this rank's backend)."""
    backend = backend_of(group, folder) if backend is None else backend
    return link_devices(group, lambda: backend.link({}), "nccl"), backend
