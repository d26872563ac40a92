"""Choice of the device of this process: its processor or its GPU."""

import logging
from functools import cache

from sparkdl import engine
from sparkdl.engine.backends import PROCESSOR
from sparkdl.errors import DeviceError, UnsupportedError

__all__ = [
    "DEVICES",
    "PROCESSOR",
    "why_no_gpu",
    "backend_for",
    "backend_names",
    "choose_backend",
    "describe_device",
    "device_for",
    "can_reach_gpu",
    "may_be_gpu",
    "restrict_gpus",
]
GPU = "cuda"  # the user's name and the engine's backend
DEVICES = ("auto", "cpu", GPU)
log = logging.getLogger(__name__)


def restrict_gpus(addresses, turn=0):
    """Restricts the GPUs that this process may use, before anything computes; see DeviceGrant."""
    engine.backends.grant_devices(addresses, turn)


def why_no_gpu():
    """Returns why there is no GPU, without calling CUDA; None if there may be one."""
    return engine.backends.absent(GPU)


def can_reach_gpu():
    """Returns whether the package that drives GPUs is installed, with or without a GPU."""
    return engine.backends.installed(GPU)


def may_be_gpu(device, backend="auto"):
    """Returns whether a process with these options would look for a GPU; never calls CUDA.

    Naming a backend of the processor selects the processor.
    """
    return device == GPU or (device == "auto" and backend == "auto" and why_no_gpu() is None)


def backend_names():
    """Returns what the option `backend` of a processor may be, and the backend of GPUs."""
    return "auto", *engine.backends.names()


def device_for(conf, device):
    """Returns the device of a network's replicas: "cpu" for "auto" if the network prefers it."""
    return "cpu" if device == "auto" and conf.prefers_processor else device


def backend_for(conf, device, backend="auto"):
    """Returns the name of the backend that computes a network; see choose_backend."""
    return choose_backend(device_for(conf, device), backend)


@cache
def choose_backend(device, backend="auto"):
    """Returns the name of the engine's backend that computes in this process.

    Parameters
    ----------
    device : str
        "auto": a GPU if there is one; "cpu": the processor; "cuda": a GPU, or an error.
    backend : str
        The backend of the processor.

    Raises
    ------
    UnsupportedError, DeviceError
        For "cuda" without a GPU for this process; says why.
    """
    if may_be_gpu(device, backend):
        try:
            engine.backends.get(GPU)
            return GPU
        except (UnsupportedError, DeviceError) as error:
            if device == GPU:
                raise
            log.warning("computes on the processor: %s", error)
    return backend


def describe_device(backend):
    """Returns a description of a backend's device, different for every GPU."""
    return engine.backends.get(backend).device_name
