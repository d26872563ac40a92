"""Counters and gauges of a fit, for monitoring systems."""

import math
from collections import defaultdict
from typing import NamedTuple

from sparkdl.training.report.curves import numbers
from sparkdl.training.report.scalars import learning_rate

WORKER_PARTS = "reading", "compute", "averaging"  # seconds of a WorkerFigures


class Meter(NamedTuple):
    """A figure: its name, whether it is a counter, its unit, its labels, and its description."""

    name: str
    grows: bool
    unit: str
    labels: tuple[str, ...]
    text: str


COUNTER, GAUGE = True, False
METERS = [
    Meter("rounds", COUNTER, "", (), "Rounds, those that are lost with a worker, too."),
    Meter("lost_rounds", COUNTER, "", (), "Rounds that were lost with a worker."),
    Meter(
        "restarts",
        COUNTER,
        "",
        (),
        "Times that workers began anew, after a loss or on other slots.",
    ),
    Meter("examples", COUNTER, "", (), "Examples trained."),
    Meter("sent_bytes", COUNTER, "", (), "Bytes that workers sent to each other."),
    Meter("skipped_updates", COUNTER, "", (), "Updates left out: gradients were not finite."),
    Meter("dropped_gradients", COUNTER, "", (), "Gradients that came too late to count."),
    Meter("fits", COUNTER, "", ("end",), "Fits that are over: done, or failed by an error."),
    Meter("round_seconds", COUNTER, "s", ("part",), "Seconds of all rounds by part."),
    Meter("worker_examples", COUNTER, "", ("worker",), "Examples that a worker trained."),
    Meter("worker_seconds", COUNTER, "s", ("worker", "part"), "Seconds of a worker by part."),
    Meter("worker_sent_bytes", COUNTER, "", ("worker",), "Bytes that a worker sent to others."),
    Meter("worker_memory_bytes", GAUGE, "", ("worker",), "The most memory of a worker's process."),
    Meter("phase_seconds", GAUGE, "s", ("phase",), "Seconds of the fit's wall clock by phase."),
    Meter("running", GAUGE, "", (), "1 while a fit goes on, else 0."),
    Meter("epoch", GAUGE, "", (), "The epoch, from 0."),
    Meter("update", GAUGE, "", (), "Updates of the network."),
    Meter("workers", GAUGE, "", (), "Workers of the last round."),
    Meter("loss", GAUGE, "", (), "Mean loss of the last round."),
    Meter("learning_rate", GAUGE, "", (), "Learning rate of the last update."),
    Meter("examples_per_second", GAUGE, "", (), "Throughput of the last round."),
    Meter("validation", GAUGE, "", ("figure",), "The last evaluation's figures."),
]


class Meters:
    """Counts over successive fits; figures of single rounds are those of the last one.

    Attributes
    ----------
    values : {meter: {values of its labels: number}}
    """

    def __init__(self):
        self.values = {meter.name: defaultdict(float) for meter in METERS}
        for meter in METERS:
            if meter.grows and not meter.labels:
                self.add(meter.name, 0)
        self.set("running", 0)

    def add(self, name, amount, *labels):
        self.values[name][labels] += amount

    def set(self, name, value, *labels):
        """Sets a gauge; a value that is not finite removes it."""
        if math.isfinite(value):
            self.values[name][labels] = value
        else:
            self.values[name].pop(labels, None)

    def readings(self):
        """Returns [(Meter, [(values of its labels, number)])]; safe to call from another thread."""
        return [(meter, list(self.values[meter.name].copy().items())) for meter in METERS]

    def start(self, plan):
        self.set("running", 1)
        self.set("update", plan.iteration)
        self.set("epoch", plan.epoch)
        self.phases(plan.history)

    def round(self, plan, report):
        counts = {"rounds": 1, "examples": report.examples, "sent_bytes": report.bytes_sent}
        counts |= {"skipped_updates": report.skipped, "dropped_gradients": report.dropped}
        for name, amount in counts.items():
            self.add(name, amount)
        for part, seconds in report.seconds.items():
            self.add("round_seconds", seconds, part)
        for rank, figures in enumerate(report.by_worker):
            self.worker(str(rank), figures)
        gauges = {"epoch": report.epoch, "update": report.iteration, "workers": report.workers}
        gauges |= {"loss": report.loss, "learning_rate": learning_rate(plan, report)}
        gauges |= {"examples_per_second": report.examples_per_second}
        for name, value in gauges.items():
            self.set(name, value)
        self.phases(plan.history)

    def worker(self, rank, figures):
        self.add("worker_examples", figures.examples, rank)
        self.add("worker_sent_bytes", figures.sent, rank)
        self.set("worker_memory_bytes", figures.memory, rank)
        for part in WORKER_PARTS:
            self.add("worker_seconds", getattr(figures, part), rank, part)

    def evaluation(self, evaluation):
        for name, value in numbers(evaluation).items():
            self.set("validation", value, name)

    def restart(self, plan, restart):
        self.add("restarts", 1)
        self.add("lost_rounds", restart.lost)
        rounds = plan.history.rounds
        self.set("update", rounds[-1].iteration if rounds else plan.iteration)
        self.set("epoch", restart.epoch)

    def end(self, plan, history):
        self.set("running", 0)
        self.add("fits", 1, "done" if plan.steering.error is None else "failed")
        self.phases(history)

    def phases(self, history):
        for phase, seconds in history.phases.items():
            self.set("phase_seconds", seconds, phase)
