"""Steps of a torch module under AllReduceSGD against torch's DistributedDataParallel over gloo.

The same module, LeNet, on two processes of a thread each, 64 records a process; sides take turns.
Ours has its whole fit in the step: minibatches, loss, optimizer, reports of rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np

from tests.benchmarks.peers.environment import ROOT

TORCH = ROOT / ".torch"  # where `build.py test --torch` puts it
BATCH, SIZE, ROUND = 64, 2, 20
RECORDS = BATCH * SIZE * ROUND
BAR = 1.1


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args(argv).turns
    subprocess.run([sys.executable, "-m", "tests.support.torch_package", TORCH], check=True)
    steps = {"ours": [], "theirs": []}
    for _ in range(turns):
        for side, found in steps.items():
            found.append(run(side))
    ours, theirs = (statistics.median(steps[side]) for side in steps)
    ratio = statistics.median(b / a for a, b in zip(steps["ours"], steps["theirs"]))
    print(f"TorchModel under AllReduceSGD {ours:.2f} ms, DDP over gloo {theirs:.2f} ms a step")
    print(f"ratio {ratio:.2f} (bar {BAR}), medians of {turns} turns: {steps}")


def run(side):
    """Milliseconds of a step of one side, in processes of its own."""
    fixed = {"PYTHONPATH": f"{TORCH}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", f"from {__name__} import {side}; {side}()"]
    command[2] = command[2].replace("__main__", "tests.benchmarks.torch_replicas")
    done = subprocess.run(
        command, env=os.environ | fixed, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return json.loads(done.stdout.splitlines()[-1])


def lenet():
    from torch import nn

    first = nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2)
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def records(count):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, count)


def ours():
    """Prints the median over rounds, the first two left out."""
    from sparkdl import AllReduceSGD, LocalWorkers, Momentum, Network
    from sparkdl.interop.torch import TorchModel

    optimizer = Momentum(learning_rate=0.01)
    network = Network(TorchModel(make=lenet, input_shape=(1, 28, 28), optimizer=optimizer))
    master = AllReduceSGD(batch_size_per_worker=BATCH, updates_per_round=ROUND, device="cpu")
    with LocalWorkers(SIZE) as workers:
        history = network.fit(records(RECORDS), 6, master, workers)
    steps = [report.duration / ROUND for report in history.rounds[2:]]
    print(json.dumps(1e3 * statistics.median(steps)))


def theirs():
    """Prints the median over as many steps, the first two times as many left out."""
    import torch.multiprocessing

    found = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(train, (found,), nprocs=SIZE)
    print(json.dumps(found.get()))


def train(rank, found):
    import time

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=SIZE)
    model = DistributedDataParallel(lenet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = map(torch.tensor, records(RECORDS // SIZE))
    rounds = []
    for _ in range(6):
        began = time.perf_counter()
        for chosen in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
            optimizer.step()
        rounds.append((time.perf_counter() - began) / ROUND)
    if rank == 0:
        found.put(1e3 * statistics.median(rounds[2:]))
    dist.destroy_process_group()
