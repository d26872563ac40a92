"""torch's side: one workload in one mode on the GPU, in its own process."""

import sys
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu.torch_networks import Block, alexnet, googlenet, lenet, resnet50
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.gpu.workloads import ADAM_PARAMETERS, MOMENTUM, RATE, WORKLOADS

STEPS = 10
PRODUCT = 8192  # size of the square matrices whose product gives the peak


class Lstm(nn.Module):
    def __init__(self, units=1024):
        super().__init__()
        self.lstm = nn.LSTM(units, units, 2, batch_first=True)
        self.out = nn.Linear(units, units)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


class Gpt2(nn.Module):
    def __init__(self, symbols=50_257, width=768, steps=1024, depth=12, heads=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(symbols, width), nn.Embedding(steps, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.tokens(x) + self.places.weight)))


NETWORKS = {
    "resnet50": resnet50,
    "alexnet": alexnet,
    "googlenet": googlenet,
    "lenet": lenet,
    "lstm": Lstm,
    "gpt2": Gpt2,
}


def training(workload, mode):
    """Returns (call, facts) of `STEPS` training steps."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    x, y = (torch.tensor(array, device="cuda") for array in workload.arrays())
    net = NETWORKS[workload.network]().cuda()
    count = parameters(net)
    if x.ndim == 4:
        net, x = (a.to(memory_format=torch.channels_last) for a in (net, x))
    optimizer = make_optimizer(net.parameters(), workload.optimizer, mode)
    run = torch.compile(net) if mode == "compile" else net
    narrow = {"device_type": "cuda", "dtype": torch.bfloat16}

    def step():
        optimizer.zero_grad(set_to_none=mode != "graph")
        with torch.autocast(**narrow, enabled=workload.dtype == "bfloat16"):
            z = run(x)
            loss = F.cross_entropy(z.reshape(-1, z.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()

    return repeated(captured(step) if mode == "graph" else step, facts(count))


def make_optimizer(params, kind, mode):
    options = {"fused": True} | ({"capturable": True} if mode == "graph" and kind == "adam" else {})
    if kind == "adam":
        return torch.optim.Adam(params, lr=RATE, **options)
    return torch.optim.SGD(params, lr=RATE, momentum=MOMENTUM, **options)


def captured(step):
    """Returns the step captured as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def updating(mode):
    """Returns (call, facts) of fused Adam alone."""
    vector = nn.Parameter(torch.randn(ADAM_PARAMETERS, device="cuda") * 0.01)
    vector.grad = torch.randn(ADAM_PARAMETERS, device="cuda") * 0.01
    step = make_optimizer([vector], "adam", mode).step
    return repeated(captured(step) if mode == "graph" else step, facts(ADAM_PARAMETERS))


def product(dtype):
    """Returns (call, facts) of a matrix product, which gives the device's peak."""
    torch.backends.cuda.matmul.allow_tf32 = False
    kind = getattr(torch, dtype)
    x, y = (torch.randn(PRODUCT, PRODUCT, device="cuda", dtype=kind) for _ in "xy")
    return repeated(lambda: x @ y, facts(0) | {"flops": 2 * PRODUCT**3})


def copying():
    """Returns (call, facts) of a copy within the device."""
    x = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    y = torch.empty_like(x)
    return repeated(lambda: y.copy_(x), facts(0) | {"bytes": 2 * x.numel()})


def repeated(step, facts):
    """Returns (call of `STEPS` steps, facts including peak memory)."""

    def call():
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        facts["memory"] = torch.cuda.max_memory_allocated()

    return call, facts


def parameters(net):
    """Counts parameters without the LSTMs' redundant second bias, which is added to the first."""
    doubles = [p for name, p in net.named_parameters() if "bias_hh" in name]
    return sum(p.numel() for p in net.parameters()) - sum(p.numel() for p in doubles)


def facts(count):
    version = f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    return {"parameters": count, "steps": STEPS, "version": version}


def main(name, mode):
    torch.manual_seed(0)
    alone = {"product": partial(product, mode), "copy": copying, "adam": partial(updating, mode)}
    serve(alone[name] if name in alone else partial(training, WORKLOADS[name], mode))


if __name__ == "__main__":
    main(*sys.argv[1:])
