"""LeNet's steps under AllReduceSGD, as a torch module and as ours, against DDP over gloo.

Two single-threaded processes with 64 records each; sides alternate, the torch module with and
without channels_last. Our step includes the whole fit: minibatches, loss, optimizer, round reports.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np

from tests.benchmarks.peers.environment import ROOT

TORCH = ROOT / ".torch"  # installed by `build.py test --torch`
BATCH, SIZE, ROUND = 64, 2, 20
RECORDS = BATCH * SIZE * ROUND
BAR = 1.1  # for the torch module
OWN_BARS = {False: 2.0, True: 1.5}  # for our own network, against DDP with or without channels_last
SIDES = [("ours", False), ("theirs", False), ("ours", True), ("theirs", True), ("own", False)]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args(argv).turns
    subprocess.run(
        [sys.executable, "-m", "tests.support.framework_packages", "torch", TORCH], check=True
    )
    steps = {side: [] for side in SIDES}
    for _ in range(turns):
        for (side, last), found in steps.items():
            found.append(run(f"{side}(channels_last={last})"))
    print("| a step | TorchModel under AllReduceSGD | DDP over gloo |\n|---|---|---|")
    for last in (False, True):
        ours, theirs = (statistics.median(steps[side, last]) for side in ("ours", "theirs"))
        print(f"| channels_last={last} | {ours:.2f} ms | {theirs:.2f} ms |")
    for last in (False, True):
        print(f"DDP as it is / ours with channels_last={last}: {ratio(steps, False, last):.2f}")
    print(f"both with channels_last: {ratio(steps, True, True):.2f}; bar {BAR}; {turns} turns")
    print(f"our own network: {statistics.median(steps['own', False]):.2f} ms")
    for last, bar in OWN_BARS.items():
        found = ratio(steps, last, False, "own")
        print(f"DDP with channels_last={last} / our own network: {found:.2f}; bar {bar}")


def ratio(steps, theirs, ours, side="ours"):
    """Returns the median over turns of DDP's step to ours, each with or without channels_last."""
    pairs = zip(steps["theirs", theirs], steps[side, ours], strict=True)
    return statistics.median(their_step / our_step for their_step, our_step in pairs)


def run(call):
    """Returns the milliseconds per step of one side, run in new processes."""
    fixed = {"PYTHONPATH": f"{TORCH}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", f"from {__name__} import ours, own, theirs; {call}"]
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


def ours(channels_last):
    """Measures steps of the torch module under AllReduceSGD."""
    from sparkdl import Momentum
    from sparkdl.interop.torch import TorchModel

    optimizer = Momentum(learning_rate=0.01)
    options = {"optimizer": optimizer, "channels_last": channels_last}
    fit(TorchModel(make=lenet, input_shape=(1, 28, 28), **options))


def own(channels_last):
    """Measures steps of our LeNet, which chooses its own memory layout."""
    from dataclasses import replace

    from sparkdl import Momentum
    from tests.benchmarks.spark.networks import network

    fit(replace(network("lenet"), optimizer=Momentum(learning_rate=0.01)))


def fit(conf):
    """Prints the median over rounds, without the first two."""
    from sparkdl import AllReduceSGD, LocalWorkers, Network

    master = AllReduceSGD(batch_size_per_worker=BATCH, updates_per_round=ROUND, device="cpu")
    with LocalWorkers(SIZE) as workers:
        history = Network(conf).fit(records(RECORDS), 6, master, workers)
    steps = [report.duration / ROUND for report in history.rounds[2:]]
    print(json.dumps(1e3 * statistics.median(steps)))


def theirs(channels_last):
    """Prints DDP's median over as many rounds, without the first two."""
    import torch.multiprocessing

    found = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(train, (found, channels_last), nprocs=SIZE)
    print(json.dumps(found.get()))


def train(rank, found, channels_last):
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
    if channels_last:
        model, x = (one.to(memory_format=torch.channels_last) for one in (model, x))
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
