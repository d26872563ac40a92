"""Rule that decides which exchanges use NCCL and which use sockets.

NCCL carries sums and copies of 16-bit and 32-bit floating-point numbers, provided every rank has
the same version of NCCL and its own device. Everything else, such as codecs, stores, messages and
counters, goes over sockets and shared memory.
"""

import json
from collections import defaultdict
from dataclasses import asdict, dataclass

WISHES = ("auto", "nccl", "sockets")
CARRIED = ("bfloat16", "float16", "float32")


def is_carried(x, op="sum"):
    """Returns whether NCCL carries this array and operation."""
    return op == "sum" and getattr(getattr(x, "dtype", None), "name", None) in CARRIED


@dataclass(frozen=True, kw_only=True)
class DeviceInfo:
    """A rank's description of its device, sent to the other ranks.

    Parameters
    ----------
    host : str
    gpu : bool
        Whether the rank computes on a GPU.
    device : str
        Identifier of the GPU, the same for all processes that see it.
    version : str
        Version of NCCL.
    obstacle_text : str
        Why NCCL is not available; "" if it is.
    """

    host: str
    gpu: bool = True
    device: str = ""
    version: str = ""
    obstacle_text: str = ""

    def pack(self):
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data):
        return cls(**json.loads(bytes(data)))


def obstacle(places):
    """Returns why these ranks cannot use NCCL, or None if they can.

    Parameters
    ----------
    places : list of DeviceInfo, by rank
    """
    for rank, place in enumerate(places):
        if not place.gpu or place.obstacle_text:
            return (
                f"rank {rank} on {place.host} {place.obstacle_text or 'computes on the processor'}"
            )
    by_device, by_version = defaultdict(list), defaultdict(list)
    for rank, place in enumerate(places):
        by_device[place.device].append(rank)
        by_version[place.version].append(rank)
    for device, ranks in by_device.items():
        if len(ranks) > 1:
            return (
                f"{format_ranks(ranks)} on {places[ranks[0]].host} share the GPU {device}, but "
                "NCCL needs one for each: spark.task.resource.gpu.amount=1 gives each task its "
                "own"
            )
    if len(by_version) > 1:
        versions = "; ".join(f"{format_ranks(r)} {v}" for v, r in by_version.items())
        hosts = sorted({place.host for place in places})
        return f"NCCL is not the same everywhere: {versions} (on {', '.join(hosts)})"
    return None


def format_ranks(ranks):
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
