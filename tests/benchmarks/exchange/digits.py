"""LeNet on the digits: a master's accuracy, speed and bytes sent."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data import Batch
from sparkdl.data.samples.digits import digits
from sparkdl.nn import ExponentialSchedule, Nesterov
from sparkdl.nn.zoo import lenet
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The results of a fit; lists have one entry per epoch.

    Parameters
    ----------
    seconds : list of float
        Training time from the start of the fit to the end of the epoch.
    accuracy : list of float
        Accuracy on held-out digits.
    sent : float
        Bytes that all workers sent to others.
    rounds, updates, examples : int
    """

    seconds: list
    accuracy: list
    sent: float
    rounds: int
    updates: int
    examples: int

    @property
    def speed(self):
        """Examples per second."""
        return self.examples / self.seconds[-1]

    def until(self, accuracy):
        """Returns the seconds until the first epoch that reached this accuracy, or None."""
        reached = (s for s, a in zip(self.seconds, self.accuracy) if a >= accuracy)
        return next(reached, None)


class Watch(Listener):
    """Adds up the rounds' reports."""

    def __init__(self):
        self.rounds, self.seconds, self.accuracy, self.total = [], [], [], 0.0

    def on_round(self, report, state):
        self.rounds.append(report)
        self.total += report.duration

    def on_epoch(self, report, state):
        self.seconds.append(self.total)
        self.accuracy.append(report.score)

    def fit(self):
        return Fit(
            seconds=self.seconds,
            accuracy=self.accuracy,
            sent=sum(report.bytes_sent for report in self.rounds),
            rounds=len(self.rounds),
            updates=self.rounds[-1].iteration,
            examples=sum(report.examples for report in self.rounds),
        )


def fit(master, workers, epochs, rate=0.03):
    """Returns the Fit of the demo's LeNet with this initial rate."""
    watch, falling = Watch(), ExponentialSchedule(initial=rate, gamma=0.7, per="epoch")
    conf = lenet(optimizer=Nesterov(learning_rate=falling), l2=5e-4, seed=1)
    options = {"validation": scaled("test"), "listeners": [watch]}
    Network(conf).fit(scaled("train"), epochs, master, workers, **options)
    return watch.fit()


def scaled(part):
    """Returns the digits with pixels scaled to [0, 1]."""
    batch = digits(part)
    return Batch.of(batch.features / np.float32(255), batch.labels)
