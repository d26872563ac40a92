"""Share of the gradients' exchange that overlaps with the backward pass.

Two workers, each with a core of its own, train a network for CIFAR over a slowed link. Their
updates take three ways by turns: each computes alone, and all wait for the slowest; gradients are
summed when the backward pass has ended; gradients are summed in buckets as they become final. Each
turn gives what the second takes more than the first, which is the exchange, and what the third
takes more, which is exposed: time on the link that nothing hides, and cores that the exchange takes
from the computation. Both are medians over all turns. That one worker computes for longer than the
other is in all three, so it is neither.
"""

import json
import sys

import numpy as np

from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from tests.benchmarks.cpu.our_networks import configuration
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.exchange.by_turns import ALONE, BEHIND, BESIDE, FIGURES, ByTurns
from tests.benchmarks.exchange.link import RATE, HostWorkers, on_the_left
from tests.benchmarks.exchange.row import Bar, Row, duration

BATCH, STEPS, EPOCHS = 64, 30, 12
WARM_UP = 10  # turns


class Found(Listener):
    """What the workers have kept."""

    def __init__(self):
        self.master_state = {}

    def on_epoch(self, report, state):
        self.master_state = state.master_state


def measure(options):
    """The row of the bar."""
    [found] = on_the_left(__name__)
    yield row(found)


def row(found):
    """What is hidden, from {figure: {way: a number of each turn}}."""
    seconds, middle = found["seconds"], {name: medians(found[name]) for name in FIGURES}
    exchange, exposed = (more(seconds, way) for way in (BEHIND, BESIDE))
    hidden = 1 - exposed / exchange if exchange > 0 else None
    notes = (
        f"compute {duration(middle['seconds'][ALONE])}, exchange {duration(max(0.0, exchange))}, "
        f"exposed {duration(max(0.0, exposed))} a step, medians of {len(seconds[ALONE])} turns; "
        f"{middle['sent'][BESIDE] / 1e6:.2f} MB sent by a worker",
        f"waited in a step: {told(middle['waited'])}",
        f"cores busy in a step: {told(middle['busy'])}",
    )
    return Row(
        title=f"AllReduceSGD, CIFAR net, 2 workers, {RATE}",
        ours=duration(middle["seconds"][BESIDE]),
        bars=(Bar(what="hidden of the exchange", value=hidden, bound=0.6, unit=""),),
        notes=notes,
        figures=found,
    )


def more(seconds, way):
    """What a way takes more than computing alone: the median over turns."""
    return float(np.median(np.subtract(seconds[way], seconds[ALONE])))


def medians(by_way):
    return {way: float(np.median(all_turns)) for way, all_turns in by_way.items()}


def told(by_way):
    return ", ".join(f"{way} {duration(seconds)}" for way, seconds in by_way.items())


def main(address, right, **options):
    """Train on the left host and the right one; prints what each way took, turn by turn."""
    workers = HostWorkers(address, int(right))
    try:
        print(json.dumps(trained(workers, **options)))
    finally:
        workers.close()


def trained(workers, **options):
    """{figure: {way: [a number of each turn]}} of a fit, without the first turns."""
    master = ByTurns(
        batch_size_per_worker=BATCH,
        updates_per_round=STEPS,
        workers=2,
        shared_memory=False,
        prefetch=0,
        **options,
    )
    rng, n = np.random.default_rng(0), 2 * BATCH * STEPS
    x = rng.normal(size=(n, 3, 32, 32)).astype(np.float32)
    found, network = Found(), Network(configuration(WORKLOADS["cifar_net"]))
    network.fit((x, rng.integers(0, 10, n)), EPOCHS, master, workers, listeners=[found])
    return {name: by_way(found.master_state, name, master.ways) for name in FIGURES}


def by_way(kept, name, ways):
    figures = {way: kept[name][kept["way"] == number] for number, way in enumerate(ways)}
    turns = min(map(len, figures.values()))
    return {way: [*figures[way][WARM_UP:turns]] for way in ways}


if __name__ == "__main__":
    main(*sys.argv[1:])
