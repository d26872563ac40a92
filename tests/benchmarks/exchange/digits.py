"""LeNet on the digits: how far a master gets, how fast, with how many bytes."""

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
    """What came of a fit; lists have an entry for each epoch.

    Parameters
    ----------
    seconds : list of float
        Of training from the start of the fit to the end of the epoch.
    accuracy : list of float
        On the digits that were not trained.
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
        """Examples a second."""
        return self.examples / self.seconds[-1]

    def until(self, accuracy):
        """Seconds until the first epoch after which it was reached, None where it never was."""
        reached = (s for s, a in zip(self.seconds, self.accuracy) if a >= accuracy)
        return next(reached, None)


class Watch(Listener):
    """Adds up the rounds."""

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
    """The Fit of LeNet as the demo has it, which begins with this rate."""
    watch, falling = Watch(), ExponentialSchedule(initial=rate, gamma=0.7, per="epoch")
    conf = lenet(optimizer=Nesterov(learning_rate=falling), l2=5e-4, seed=1)
    options = {"validation": scaled("test"), "listeners": [watch]}
    Network(conf).fit(scaled("train"), epochs, master, workers, **options)
    return watch.fit()


def scaled(part):
    """The digits with pixels from 0 to 1."""
    batch = digits(part)
    return Batch.of(batch.features / np.float32(255), batch.labels)
