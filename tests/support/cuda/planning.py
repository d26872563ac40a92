"""Plans of cuDNN for networks, for an H200 that need not be there.

    python -m tests.support.cuda.planning NETWORK DTYPE BATCH

prints it as a table. It runs in a process of its own, whose libcuda.so.1 is that of no_device.c.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import cudnn
import numpy as np

from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.adapters import Libraries
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.cudnn.adapter import Cudnn
from sparkdl.nn import zoo
from sparkdl.nn.execution.replica import Replica
from tests.support.cuda.recording_driver import RecordingDriver
from tests.support.zoo_networks import OF_ARRAYS

H200 = Path(__file__).with_name("h200.json").read_text()
GPT2 = {"symbols": 50_257, "steps": 1024, "width": 768, "depth": 12, "heads": 12}
NETWORKS = {name: getattr(zoo, name) for name in OF_ARRAYS}
NETWORKS["gpt2"] = partial(zoo.transformer, **GPT2)


class Unread(RecordingDriver):
    """Whose pinned memory nobody fills: large batches take none."""

    def allocate_pinned(self, size):
        return np.empty(size, np.uint8)


def table(name, dtype, batch):
    """Lines of the graphs that a network's gradient asks for, and of what becomes of them."""
    driver = Unread()
    graphs = Cudnn(cudnn, driver, H200)
    module = type("module", (), {"BACKEND": Cuda(driver, Libraries(graphs=graphs))})
    sys.modules["planned"], base.MODULES["cuda"] = module, "planned"
    conf = replace(NETWORKS[name](), dtype=dtype)
    Replica(conf, "cuda").programs(int(batch))
    yield f"{name} {dtype} {batch}"
    kinds = {}
    for (request, _), plan in graphs.plans.items():
        kinds.setdefault(request.label, []).append((request, plan))
    for label, plans in sorted(kinds.items()):
        yield f"  {label}: {summary([p for _, p in plans if not isinstance(p, str)])}"
        for request, plan in plans:
            if isinstance(plan, str):
                yield f"    refused: {request.kind} {next(iter(request.arrays.values())).shape}"


def summary(plans):
    if not plans:
        return "no graph"
    engines = min(plan.graph.get_execution_plan_count() for plan in plans)
    space = max(plan.workspace for plan in plans) / 1e6
    return f"{len(plans)} graphs, {engines} engines at least, {space:.1f} MB at most"


if __name__ == "__main__":
    print(f"cuDNN {cudnn.backend_version()}, frontend {cudnn.__version__}")
    print(*table(*sys.argv[1:]), sep="\n")
