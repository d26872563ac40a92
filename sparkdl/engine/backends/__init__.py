"""Backends, which provide kernels; base.py defines their interface."""

from sparkdl.engine.backends.base import PROCESSOR, Kernel, absent, get, installed, names
from sparkdl.engine.backends.device_grant import grant_devices

__all__ = ["PROCESSOR", "Kernel", "absent", "get", "grant_devices", "installed", "names"]
