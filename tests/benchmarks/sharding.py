"""Memory of workers with sharded state: a network that does not fit into one worker.

Four processes of this machine, each with a data limit (RLIMIT_DATA, enforced by the kernel), train
a multilayer perceptron by Adam. There is no driver, which would hold the whole state. With --check
one process without a limit makes the same updates, adding gradients in the order that the exchange
guarantees; the weights must then agree bit for bit.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import tempfile
import time
from types import SimpleNamespace

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.nn import Adam, Dense, NetworkConf, Output, initial_buffers, initial_params
from sparkdl.nn.execution.initial_vectors import first_value, generator
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimization.network_part import slots_part
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.sharding import SHARDS, params_part
from sparkdl.training.masters.divided_state import EMPTY, PARAMS, SLOTS
from sparkdl.training.network import first_state
from sparkdl.training.resident.strategy import GradientStep
from sparkdl.training.resident.worker import Worker
from sparkdl.training.saving.state import TrainState

MB, BATCH = 1e6, 4
SECRET = b"a secret of a benchmark"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", type=float, default=200e6, help="about so many")
    parser.add_argument("--width", type=int, default=2000, help="of each layer")
    parser.add_argument("--workers", type=int, nargs="+", default=[4])
    parser.add_argument("--limit", type=float, default=1200.0, help="MB of a worker; 0: none")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--shard", nargs="+", default=["none", *SHARDS])
    parser.add_argument("--check", action="store_true", help="compare weights with one process's")
    options = parser.parse_args(argv)
    depth = max(1, round(options.params / options.width / (options.width + 1)))
    conf = perceptron(options.width, depth)
    print(f"{conf.params_layout.size:,} parameters, {options.steps} updates, Adam")
    for size in options.workers:
        found = [trained(conf, size, shard, options) for shard in options.shard]
        if options.check:
            expected = run(reference, conf, size, options.steps)
            same = [row["weights"] == expected for row in found if "weights" in row]
            print(f"weights of one process with all of it: the same bits {same}")


def perceptron(width, depth):
    layers = [*(Dense(units=width, activation="relu") for _ in range(depth)), Output(units=10)]
    return NetworkConf(input_shape=(width,), layers=layers, optimizer=Adam(), seed=1)


def trained(conf, size, shard, options):
    """Runs a fit; prints and returns its results."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = [(conf, folder, rank, size, shard, options) for rank in range(size)]
        answers = run_all(member, tasks)
    errors = [answer["error"] for answer in answers if "error" in answer]
    shown = f"{size} workers, shard {shard:10}: formula {formula(conf, shard, size) / MB:6.0f} MB, "
    if errors:
        print(shown + errors[0], flush=True)
        return {}
    peak, base = (max(answer[name] for answer in answers) for name in ("peak", "base"))
    shown += f"peak {peak / MB:.0f} MB, of which {base / MB:.0f} MB before the state; "
    print(shown + f"{max(answer['cpu'] for answer in answers):.2f} CPU s an update", flush=True)
    return {"weights": [answer["weights"] for answer in answers]}


def formula(conf, shard, size):
    """Returns the bytes by the formula in the option's documentation."""
    total = conf.params_layout.size
    bucket = max(shape[0] * (shape[0] + 1) for name, shape in conf.params_layout.entries[:1])
    share = 4 * total / size
    numbers = {
        "none": 4 * total,
        "optimizer": 2 * total + share / 2,
        "gradients": total + 2 * bucket + share,
        "parameters": 4 * bucket + share,
    }
    return 4 * numbers[shard]


def run(function, *arguments):
    return run_all(function, [arguments])[0]


def run_all(function, tasks):
    """Runs a function in a new process per task, all concurrently; returns their results."""
    context = multiprocessing.get_context("spawn")
    os.environ["OMP_NUM_THREADS"] = "1"
    pipes, processes = [], []
    for task in tasks:
        mine, theirs = context.Pipe(duplex=False)
        processes.append(context.Process(target=answer, args=(theirs, function, task)))
        processes[-1].start()
        theirs.close()
        pipes.append(mine)
    answers = [json.loads(received(pipe)) for pipe in pipes]
    for process in processes:
        process.join()
    return answers


def received(pipe):
    try:
        return pipe.recv()
    except EOFError:
        return json.dumps({"error": "the process was ended"})


def answer(pipe, function, task):
    try:
        pipe.send(json.dumps(function(*task)))
    except Exception as error:
        pipe.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}))


def member(conf, folder, rank, size, shard, options):
    """Runs one worker; returns its peak memory and the digest of its part of the weights."""
    if options.limit:
        limit = int(options.limit * MB)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    master = AllReduceSGD(batch_size_per_worker=BATCH, shard=None if shard == "none" else shard)
    with Group.form(FileRendezvous(folder, rank, size), SECRET, stall_timeout=300.0) as group:
        load_libraries()
        base = peak()
        worker = Worker(setup_of(conf, master), group, {}, share_of(conf, master, rank, size))
        strategy, start = master.strategy(worker), time.process_time()
        steps = (GradientStep(batch_of(conf, rank, i), 1.0, None) for i in range(options.steps))
        strategy.round(steps)
        cpu = (time.process_time() - start) / options.steps
        part = params_part(master, conf, rank, size)
        replica = worker.replica
        own = replica.kept_params if master.shard else part.take(replica.params)
    return {"base": base, "peak": peak(), "cpu": cpu, "weights": digest(own)}


def load_libraries():
    """Trains a tiny network, which loads the engine's libraries."""
    conf = perceptron(8, 1)
    Replica(conf).step(batch_of(conf, 0, 0), 0.1, 1)


def setup_of(conf, master):
    if master.shard is None:
        return SimpleNamespace(conf=conf, master=master, state=first_state(conf))
    state = TrainState(params=EMPTY, buffers=initial_buffers(conf), slots=EMPTY)
    return SimpleNamespace(conf=conf, master=master, state=state)


def share_of(conf, master, rank, size):
    """Returns a worker's share of the initial state, without ever holding all of it."""
    if master.shard is None:
        return {}
    part, slices = params_part(master, conf, rank, size), conf.params_layout.slices
    params = np.empty(part.size, np.float32)
    for place in conf.stack:
        for name, shape in place.param_shapes.items():
            where = slices[f"{place.name}/{name}"]
            value = first_value(place, name, shape, generator(conf.seed, place.index, name))
            flat = np.broadcast_to(value, shape).reshape(-1)
            params[part.local(where)] = part.moved(where, 0).take(flat)
    return {PARAMS: params, SLOTS: np.zeros(slots_part(conf, part).size, np.float32)}


def batch_of(conf, rank, step):
    rng = np.random.default_rng([rank, step])
    x = rng.normal(size=(BATCH, *conf.input_shape)).astype(np.float32)
    return Batch.of(x, rng.integers(0, 10, BATCH))


def reference(conf, size, steps):
    """Returns the parts' digests after the same updates on a single replica.

    A worker's chunk of a bucket is summed in ring order, from the next worker to its own.
    """
    replica, master = Replica(conf), AllReduceSGD(shard="optimizer")
    parts = [params_part(master, conf, rank, size) for rank in range(size)]
    total = np.empty_like(replica.params)
    for step in range(steps):
        for turn in range(2 * size - 1):
            replica.gradient(batch_of(conf, turn % size, step))
            grad = replica.grad
            grad *= BATCH / (BATCH * size)
            for owner, part in enumerate(parts):
                begin = (owner + 1) % size
                for where in part.slices if begin <= turn < begin + size else ():
                    total[where] = grad[where] if turn == begin else total[where] + grad[where]
        replica.grad[:] = total
        replica.apply(conf.rate_at(step, 0), step + 1)
    params = replica.params
    assert len(params) == len(initial_params(conf))
    return [digest(part.take(params)) for part in parts]


def digest(vector):
    return hashlib.sha256(vector.tobytes()).hexdigest()


def peak():
    """Returns this process's peak memory in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
