"""Metrics such as users write, for tests here and on Spark."""

import threading

import numpy as np
from sklearn.metrics import fbeta_score

from sparkdl.training.evaluation import Classification

LOCK = threading.Lock()


class ErrorRate(Classification):
    """A metric whose counts add up."""

    def figures(self):
        return {"error": 1 - self.accuracy}


class Unsendable(ErrorRate):
    """A metric that no other process can have."""

    def __reduce__(self):
        raise TypeError("a lock stays where it is")


def f2(labels, predictions):
    """A metric of all records at once."""
    answers = predictions.argmax(axis=1)
    return fbeta_score(labels, answers, beta=2, average="macro", zero_division=0)


def hits(labels, predictions):
    return int(np.count_nonzero(predictions.argmax(axis=1) == labels))


def broken(labels, predictions):
    raise KeyError("threshold")


def wordy(labels, predictions):
    return "good"


METRICS = {"errors": ErrorRate, "f2": f2, "hits": hits, "all": Classification(3)}
"""For three classes."""


def expected(labels, predictions):
    """Returns the figures of METRICS but for those of "all", from arrays of all records."""
    wrong = float(np.mean(predictions.argmax(axis=1) != labels))
    return {"errors": wrong, "f2": f2(labels, predictions), "hits": hits(labels, predictions)}
