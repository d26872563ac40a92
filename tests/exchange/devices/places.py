"""Doubles of driver and NCCL, for the devices of a group's members in the tests."""

from sparkdl.exchange.devices.device_links import link_devices
from tests.support.cuda.host_driver import HostDriver
from tests.support.cuda.nccl_backend import made


def backend_of(group, folder, device="GPU-{rank}", version=22707):
    """The backend of a rank; its device may be another rank's too. NCCL's double uses `folder`."""
    driver = HostDriver(id=device.format(rank=group.rank))
    return made(driver, version=version, folder=folder)


def double_of(backend):
    """The module cupy.cuda.nccl of a backend."""
    return backend.device.libraries.exchange.library


def device_group(group, folder, backend=None):
    """(DeviceGroup of all, this rank's backend)"""
    backend = backend_of(group, folder) if backend is None else backend
    return link_devices(group, lambda: backend.link({}), "nccl"), backend
