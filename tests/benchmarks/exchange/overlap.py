"""Share of the gradient exchange that overlaps with the backward pass, and its cost per step.

Two workers with a core each train a network for CIFAR over a slow link, and LeNet over a faster
one. Updates alternate between three ways: compute alone and wait for the slowest; sum gradients
after the backward pass; sum gradients in buckets as they become final. In each turn the extra time
of the second way over the first is the exchange, and that of the third is exposed: link time that
is not hidden, and cores that the exchange takes from the computation. Both are medians over all
turns. Imbalance between the workers is in all three ways, so it cancels.
"""

import json
import sys
from dataclasses import dataclass, replace

import numpy as np

from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.exchange.by_turns import ALONE, BEHIND, BESIDE, FIGURES, ByTurns
from tests.benchmarks.exchange.link import HostWorkers, on_the_left
from tests.benchmarks.exchange.row import Bar, Row, duration

STEPS, EPOCHS = 30, 12
WARM_UP = 10  # turns
SHARED, HIDDEN = "of one worker's step rate", "hidden of the exchange"


@dataclass(frozen=True)
class Case:
    """A workload with its examples per step and link rate, and the bar of one of its figures."""

    workload: str
    batch: int
    rate: str
    what: str
    bound: float

    def bar(self, what, value):
        return Bar(what=what, value=value, bound=self.bound if what == self.what else None, unit="")


CASES = (
    Case("cifar_net", 64, "1gbit", HIDDEN, 0.6),
    Case("lenet", 112, "10gbit", SHARED, 0.85),  # a step takes 10 ms
)


class Found(Listener):
    """Keeps the workers' figures."""

    def __init__(self):
        self.master_state = {}

    def on_epoch(self, report, state):
        self.master_state = state.master_state


def measure(options):
    """Yields a row for each case."""
    for case in CASES:
        [found] = on_the_left(__name__, case.workload, str(case.batch), rate=case.rate)
        yield row(case, found)


def row(case, found):
    """Returns the row of a case, given {figure: {way: a number per turn}}."""
    seconds, middle = found["seconds"], {name: medians(found[name]) for name in FIGURES}
    exchange, exposed = (more(seconds, way) for way in (BEHIND, BESIDE))
    hidden = 1 - exposed / exchange if exchange > 0 else None
    kept = 1 / (1 + exposed / middle["seconds"][ALONE])
    notes = (
        f"compute {duration(middle['seconds'][ALONE])}, exchange {duration(max(0.0, exchange))}, "
        f"exposed {duration(max(0.0, exposed))} a step, medians of {len(seconds[ALONE])} turns; "
        f"{middle['sent'][BESIDE] / 1e6:.2f} MB sent by a worker",
        f"waited in a step: {told(middle['waited'])}",
        f"cores busy in a step: {told(middle['busy'])}",
    )
    return Row(
        title=f"AllReduceSGD, {case.workload} b{case.batch}, 2 workers, {case.rate}",
        ours=duration(middle["seconds"][BESIDE]),
        bars=(case.bar(HIDDEN, hidden), case.bar(SHARED, kept)),
        notes=notes,
        figures=found,
    )


def more(seconds, way):
    """Returns the extra time of a way over computing alone, median over turns."""
    return float(np.median(np.subtract(seconds[way], seconds[ALONE])))


def medians(by_way):
    return {way: float(np.median(all_turns)) for way, all_turns in by_way.items()}


def told(by_way):
    return ", ".join(f"{way} {duration(seconds)}" for way, seconds in by_way.items())


def main(address, right, workload, batch):
    """Trains on the left and right hosts; prints each way's figures, turn by turn."""
    workers = HostWorkers(address, int(right))
    try:
        print(json.dumps(trained(workers, replace(WORKLOADS[workload], batch=int(batch)))))
    finally:
        workers.close()


def trained(workers, workload):
    """Returns {figure: {way: [a number per turn]}} of a fit, without the warm-up."""
    master = ByTurns(
        batch_size_per_worker=workload.batch,
        updates_per_round=STEPS,
        workers=2,
        shared_memory=False,
        prefetch=0,
    )
    rng, n = np.random.default_rng(0), 2 * workload.batch * STEPS
    x = rng.normal(size=(n, *workload.shape)).astype(np.float32)
    found, network = Found(), Network(configuration(workload))
    network.fit(
        (x, rng.integers(0, workload.classes, n)), EPOCHS, master, workers, listeners=[found]
    )
    return {name: by_way(found.master_state, name, master.ways) for name in FIGURES}


def by_way(kept, name, ways):
    figures = {way: kept[name][kept["way"] == number] for number, way in enumerate(ways)}
    turns = min(map(len, figures.values()))
    return {way: [*figures[way][WARM_UP:turns]] for way in ways}


if __name__ == "__main__":
    main(*sys.argv[1:])
