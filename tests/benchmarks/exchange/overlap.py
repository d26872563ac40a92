"""How much of the exchange of gradients passes while the backward pass still runs.

Two workers of one core each train a network for CIFAR over a slowed link in three ways: without
exchange (they average only after a round), summing all gradients at the end of each backward pass,
and summing them in buckets as they become final. What the second takes more than the first is the
exchange, what the third takes more is what is not hidden.
"""

import json
import sys
from statistics import median

import numpy as np

from sparkdl.training.all_reduce import AllReduceSGD
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.listeners import Listener
from sparkdl.training.network import Network
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.exchange.link import RATE, HostWorkers, on_the_left
from tests.benchmarks.exchange.row import Bar, Row, duration

BATCH, STEPS, ROUNDS, FITS = 64, 5, 8, 3  # of each way in turn
WARM_UP = 2  # rounds
ALL = 1 << 30  # bytes: one bucket
COMMON = {"batch_size_per_worker": BATCH, "workers": 2, "shared_memory": False, "prefetch": 0}
MASTERS = {
    "alone": ParameterAveraging(aggregation="peers", averaging_frequency=STEPS, **COMMON),
    "behind": AllReduceSGD(updates_per_round=STEPS, bucket_bytes=ALL, **COMMON),
    "beside": AllReduceSGD(updates_per_round=STEPS, **COMMON),
}


class Reports(Listener):
    """The seconds of each round by part, and the bytes that were sent."""

    def __init__(self):
        self.rounds = []

    def on_round(self, report, state):
        self.rounds.append(report.seconds | {"sent": report.bytes_sent})


def measure(options):
    """The row of the bar."""
    [found] = on_the_left(__name__)
    yield row(found)


def row(found):
    """What is hidden, from the quarter of the rounds in which others took the least."""
    step = {way: float(np.quantile(rounds, 0.25)) for way, rounds in found["seconds"].items()}
    exchange, exposed = step["behind"] - step["alone"], step["beside"] - step["alone"]
    hidden = 1 - exposed / exchange if exchange > 0 else None
    notes = (
        f"compute {duration(step['alone'])}, exchange {duration(max(0.0, exchange))}, exposed "
        f"{duration(max(0.0, exposed))} a step; {found['sent'] / 1e6:.2f} MB sent by a worker",
        f"waited in a step: {waits(found)}",
    )
    return Row(
        title=f"AllReduceSGD, CIFAR net, 2 workers, {RATE}",
        ours=duration(step["beside"]),
        bars=(Bar(what="hidden of the exchange", value=hidden, bound=0.6, unit=""),),
        notes=notes,
        figures=found,
    )


def waits(found):
    return ", ".join(f"{way} {duration(median(all))}" for way, all in found["waited"].items())


def main(address, right):
    """Train on the left host and the right one; prints seconds a step."""
    seconds, waited, sent = {way: [] for way in MASTERS}, {way: [] for way in MASTERS}, 0
    workers = HostWorkers(address, int(right))
    try:
        for _ in range(FITS):
            for way, master in MASTERS.items():
                rounds = fit(workers, master)
                # Averaging at the end of a round is not part of its steps.
                parts = ("compute",) if way == "alone" else ("compute", "averaging", "overhead")
                seconds[way] += [sum(one[part] for part in parts) / STEPS for one in rounds]
                waited[way] += [one["averaging"] / STEPS for one in rounds]
                sent = median(one["sent"] for one in rounds) / STEPS / 2
    finally:
        workers.close()
    print(json.dumps({"seconds": seconds, "waited": waited, "sent": sent}))


def fit(workers, master):
    """The rounds of a fit but the first ones."""
    rng, n = np.random.default_rng(0), 2 * BATCH * STEPS * (WARM_UP + ROUNDS)
    x = rng.normal(size=(n, 3, 32, 32)).astype(np.float32)
    reports = Reports()
    network = Network(configuration(WORKLOADS["cifar_net"]))
    network.fit((x, rng.integers(0, 10, n)), 1, master, workers, listeners=[reports])
    return reports.rounds[WARM_UP:]


if __name__ == "__main__":
    main(*sys.argv[1:])
