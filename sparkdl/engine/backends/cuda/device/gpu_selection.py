"""The GPU of this task, from the addresses its cluster assigns and the devices it sees.

A cluster assigns addresses of GPUs to a task: numbers, or ids such as "GPU-5fd4..." and
"MIG-9c1a...". The process may see fewer GPUs than the machine has (CUDA_VISIBLE_DEVICES) and
numbers those from 0. Clusters' numbers count either the machine's GPUs or the visible ones; if
CUDA_VISIBLE_DEVICES is not set, both are the same.

References
----------
pyspark's TorchDistributor takes addresses as numbers of visible GPUs; spark-rapids-ml uses the
only visible one.
"""

import logging
import os
from importlib.util import find_spec
from pathlib import Path

from sparkdl.engine.backends.device_grant import GRANT
from sparkdl.errors import DeviceError

log = logging.getLogger(__name__)
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")  # created by NVIDIA's driver on Linux and Windows
VISIBLE = "CUDA_VISIBLE_DEVICES"


def choose_gpu(ids):
    """Returns the number of the GPU that this process computes on.

    See `task_devices` for errors.
    """
    gpus = task_devices(list(GRANT.addresses), os.environ.get(VISIBLE), ids)
    if not GRANT.addresses:
        return gpus[GRANT.turn % len(gpus)]
    if len(gpus) > 1:
        log.warning(
            "the task owns the GPUs %s but computes on the first only: workers use one each only "
            "when they train together; spark.task.resource.gpu.amount=1 gives each GPU a task",
            ", ".join(GRANT.addresses),
        )
    return gpus[0]


def installed():
    """Returns whether CuPy is installed, without loading it."""
    return find_spec("cupy") is not None


def absent():
    """Returns why there is no GPU, without calling CUDA; None if there may be one."""
    if not installed():
        return "CuPy is not installed: pip install 'sparkdl-hadoop[gpu]'"
    if not any(Path(path).exists() for path in DRIVERS):
        return f"there is no NVIDIA driver ({' or '.join(DRIVERS)})"
    if os.environ.get(VISIBLE) in ("", "-1"):
        return f"{describe_visible(os.environ[VISIBLE])}, which hides all GPUs"
    return None


def task_devices(addresses, visible, ids):
    """Returns the GPUs that the task owns, by their numbers in this process.

    Parameters
    ----------
    addresses : list of str
        From TaskContext.resources()["gpu"].addresses; empty if the cluster assigns no GPUs.
    visible : str or None
        CUDA_VISIBLE_DEVICES.
    ids : list of str
        Ids of the GPUs that this process sees, in its order: "GPU-..." or "MIG-...".

    Returns
    -------
    list of int; all visible GPUs if there are no addresses

    Raises
    ------
    DeviceError, with the cluster's addresses and the visible GPUs.
    """
    if not ids:
        raise DeviceError(
            f"a GPU was asked for, but this process sees none; {describe_visible(visible)}"
        )
    if not addresses:
        return list(range(len(ids)))
    numbers = [number(address, visible, ids) for address in addresses]
    if len(set(numbers)) < len(numbers):
        raise DeviceError(
            f"addresses {addresses} are the same GPU several times; {describe_visible(visible)}; "
            "ask for no more GPUs a task than an executor sees"
        )
    return numbers


def number(address, visible, ids):
    if not address.isdecimal():
        return by_id(address, visible, ids)
    place = int(address)
    if place < len(ids):
        return place
    if len(ids) == 1 and visible is not None:  # the cluster's number of the only visible GPU
        return 0
    raise DeviceError(
        f"GPU {address} is not there: this process sees {len(ids)}; {describe_visible(visible)}; "
        "let the executors see all GPUs of their machine, or only the task's own"
    )


def by_id(address, visible, ids):
    """Returns the GPU whose id starts with the address; like CUDA, takes a unique prefix.

    A MIG partition has its own id, which clusters write as "MIG-..." and CUDA gives without prefix.
    """
    matches = [place for place, one in enumerate(ids) if bare(one).startswith(bare(address))]
    if len(matches) != 1:
        what = "is not there" if not matches else f"may be any of {len(matches)}"
        raise DeviceError(
            f"GPU {address} {what}: this process sees {ids}; {describe_visible(visible)}"
        )
    return matches[0]


def bare(address):
    return address.lower().removeprefix("gpu-").removeprefix("mig-")


def describe_visible(visible):
    if visible is None:
        return "CUDA_VISIBLE_DEVICES is not set"
    return f"CUDA_VISIBLE_DEVICES is {visible!r}"
