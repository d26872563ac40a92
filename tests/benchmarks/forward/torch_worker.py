"""torch's side: the predictions of one workload in one mode."""

import os
import sys
from functools import partial

import torch

from tests.benchmarks.cpu.torch_networks import NETWORKS
from tests.benchmarks.cpu.torch_worker import facts, parameters
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import WORKLOADS


def predicting(workload, mode):
    """Returns (step, facts) of a network's prediction."""
    x = torch.tensor(workload.arrays()[0])
    net = NETWORKS[workload.network]().eval()
    count = parameters(net)
    if mode == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last) if x.ndim == 4 else x
    run = torch.compile(net) if mode == "compile" else net

    def step():
        with torch.inference_mode():
            torch.softmax(run(x), -1)

    return step, facts(count)


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    serve(partial(predicting, WORKLOADS[sys.argv[1]], sys.argv[2]))
