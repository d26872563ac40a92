"""Where this process computes: on its processor, or on the GPU that is its own."""

import logging
from functools import cache

from sparkdl import engine
from sparkdl.engine.backends.cuda.devices import OWN, absent
from sparkdl.errors import DeviceError, UnsupportedError

DEVICES = ("auto", "cpu", "cuda")
PROCESSOR = "the processor"
log = logging.getLogger(__name__)


def own(addresses, turn=0):
    """Say which GPUs this process may take, before anything computes; see devices.Own."""
    OWN.addresses, OWN.turn = tuple(addresses), turn


def may_be_gpu(device, backend="auto"):
    """Whether a process that is told so would look for a GPU; asks nothing of CUDA.

    Whoever names an engine of the processor means the processor.
    """
    return device == "cuda" or (device == "auto" and backend == "auto" and absent() is None)


@cache
def placed(device, backend="auto"):
    """The name of the engine's backend that computes here.

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
            engine.backends.get("cuda")
            return "cuda"
        except (UnsupportedError, DeviceError) as error:
            if device == "cuda":
                raise
            log.warning("computes on the processor: %s", error)
    return backend


def described(backend):
    """The device of a backend, in words: no two GPUs have the same."""
    if backend != "cuda":
        return PROCESSOR
    properties = engine.backends.get("cuda").device.driver.properties
    return f"{properties.name} ({properties.id})"
