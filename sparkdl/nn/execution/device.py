"""Choice of the device of this process: its processor, or the GPU that it owns."""

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
    "choose_backend",
    "describe_device",
    "device_for",
    "can_reach_gpu",
    "may_be_gpu",
    "restrict_gpus",
]
GPU = "cuda"  # both what a user asks for and the engine's backend that computes there
DEVICES = ("auto", "cpu", GPU)
log = logging.getLogger(__name__)


def restrict_gpus(addresses, turn=0):
    """Sets which GPUs this process may take, before anything computes; see DeviceGrant."""
    engine.backends.grant_devices(addresses, turn)


def why_no_gpu():
    """Returns why there is no GPU here, without asking CUDA; None where there may be one."""
    return engine.backends.absent(GPU)


def can_reach_gpu():
    """Returns whether the package that reaches a GPU is here, be there a GPU or none."""
    return engine.backends.installed(GPU)


def may_be_gpu(device, backend="auto"):
    """Returns whether a process with these options would look for a GPU; does not ask CUDA.

    Whoever names an engine of the processor means the processor.
    """
    return device == GPU or (device == "auto" and backend == "auto" and why_no_gpu() is None)


def device_for(conf, device):
    """Returns the device of a network's replicas: "cpu" for "auto" where it prefers that."""
    return "cpu" if device == "auto" and conf.prefers_processor else device


def backend_for(conf, device, backend="auto"):
    """Returns the name of the engine's backend that computes a network here; see choose_backend."""
    return choose_backend(device_for(conf, device), backend)


@cache
def choose_backend(device, backend="auto"):
    """Returns the name of the engine's backend that computes here.

    Parameters
    ----------
    device : str
        "auto": a GPU where there is one; "cpu": none; "cuda": a GPU or an error.
    backend : str
        Which engine of the processor.

    Raises
    ------
    UnsupportedError, DeviceError
        For "cuda" where there is no GPU for this process; says why.
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
    """Returns the device of a backend, in words: no two GPUs have the same."""
    return engine.backends.get(backend).device_name
