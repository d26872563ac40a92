"""NCCL on one GPU: initialization, unchanged sums, and the cost of a call.

Prints JSON. One GPU cannot show the cost of exchange between GPUs.
"""

import json
import time

import numpy as np

from sparkdl.engine import backends
from sparkdl.errors import UnsupportedError

NAME, CALLS = "vector", 20


def figures(backend, size=64 << 20, calls=CALLS):
    """Measures all-reduce of `size` bytes of float32 on the device, over this device alone.

    Returns
    -------
    {"nccl": version, "bytes": size, "seconds": of one, "same": whether the numbers stayed}, or
    {"absent": why}
    """
    values = np.random.default_rng(0).standard_normal(size // 4, np.float32)
    vector = backend.vector(values)
    try:
        link = backend.link({NAME: vector})
    except UnsupportedError as error:
        return {"absent": str(error)}
    link.join(1, link.invitation(), 0)
    vector.upload()
    measured(link, len(values), calls)
    seconds = measured(link, len(values), calls) / calls
    vector.mark_written()
    same = bool(np.array_equal(vector.open(), values))
    link.destroy()
    return {"nccl": link.version, "bytes": size, "seconds": seconds, "same": same}


def measured(link, length, calls):
    """Returns the seconds of so many consecutive sums."""
    mark, began = link.driver.event(), time.perf_counter()
    link.driver.record(mark, link.device.stream)
    for _ in range(calls):
        work = link.add_up(NAME, slice(0, length), 1.0, None, mark)
    link.driver.synchronize(work.mark)
    link.join_in()
    return time.perf_counter() - began


def main():
    try:
        print(json.dumps(figures(backends.get("cuda"))))
    except UnsupportedError as error:
        print(json.dumps({"absent": str(error)}))


if __name__ == "__main__":
    main()
