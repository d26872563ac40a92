"""torch's side: one workload in one mode, run in the torch environment."""

import os
import sys
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu.torch_networks import NETWORKS
from tests.benchmarks.cpu.torch_untuned import CHANNELS_FIRST
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import ADAM_PARAMETERS, MOMENTUM, RATE, WORKLOADS

# "eager" is torch as most people run it. The other modes, "channels_last" and "compile", use its
# options for more speed, such as fused optimizers.


def make_optimizer(params, kind, fused):
    options = {"fused": True} if fused else {}
    if kind == "adam":
        return torch.optim.Adam(params, lr=RATE, **options)
    return torch.optim.SGD(params, lr=RATE, momentum=MOMENTUM, **options)


def training(workload, mode):
    """Returns (step, facts) of training a network."""
    x, y = (torch.tensor(array) for array in workload.arrays())
    if workload.network in CHANNELS_FIRST:
        x = x.transpose(1, 2).contiguous()
    net = NETWORKS[workload.network]()
    count = parameters(net)
    if mode == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last) if x.ndim == 4 else x
    optimizer = make_optimizer(net.parameters(), workload.optimizer, fused=mode != "eager")
    run = torch.compile(net) if mode == "compile" else net

    def step():
        optimizer.zero_grad()
        z = run(x)
        F.cross_entropy(z.reshape(-1, z.shape[-1]), y.reshape(-1)).backward()
        optimizer.step()

    return step, facts(count)


def parameters(net):
    """Counts parameters without redundant second biases of LSTM and GRU, which are simply added to
    the first ones, except behind the reset gate."""
    modules = [module for module in net.modules() if isinstance(module, nn.LSTM | nn.GRU)]
    doubled = sum(
        len(p) if isinstance(module, nn.LSTM) else len(p) // 3 * 2
        for module in modules
        for name, p in module.named_parameters()
        if "bias_hh" in name
    )
    return sum(p.numel() for p in net.parameters()) - doubled


def update(workload, mode):
    """Returns (step, facts) of the optimizer alone."""
    vector = nn.Parameter(torch.randn(ADAM_PARAMETERS) * 0.01)
    vector.grad = torch.randn(ADAM_PARAMETERS) * 0.01
    optimizer = make_optimizer([vector], workload.optimizer, fused=mode == "channels_last")
    step = torch.compile(optimizer.step) if mode == "compile" else optimizer.step
    return step, facts(ADAM_PARAMETERS)


def facts(parameters):
    return {"parameters": parameters, "version": f"torch {torch.__version__}"}


def main(name, mode):
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    make = update if WORKLOADS[name].network == "adam" else training
    serve(partial(make, WORKLOADS[name], mode))


if __name__ == "__main__":
    main(*sys.argv[1:])
