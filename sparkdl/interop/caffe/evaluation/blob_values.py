"""Blobs of a Caffe net computed on minibatches, for tests and feature extraction."""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.evaluation.scoring import blobs_to_score, scores_of
from sparkdl.interop.caffe.graphs.net import CaffeNet
from sparkdl.interop.caffe.layers.data import unread_columns


@dataclass(frozen=True)
class Blobs:
    """Selected blobs of a net, created by `blobs_of` and sent to executors.

    Parameters
    ----------
    net : CaffeNet
        Without what executors do not need; with the wanted scores.
    names : tuple of str
        The blobs, in this order.
    sources : {blob: input or vertex} of blobs that are not scores
    stacked : {blob: vertices} of blobs that concatenate several batches
    columns : {input, or blob of labels: column of a batch}
    """

    net: CaffeNet
    names: tuple[str, ...]
    sources: dict[str, str]
    stacked: dict[str, tuple[str, ...]]
    columns: dict[str, str]

    def means(self, replica, batch):
        """Returns {blob: mean over a minibatch, (numbers,) float64}; scores already are means."""
        values, scores = self._compute_blobs(replica, batch)
        argmax = {score.blob for score in self.net.scores if score.kind == "argmax"}
        rows = values | {blob: scores.pop(blob) for blob in argmax & scores.keys()}
        means = {blob: np.mean(x, axis=0, dtype=np.float64) for blob, x in rows.items()}
        means |= scores
        return {name: np.asarray(means[name], np.float64).reshape(-1) for name in self.names}

    def rows(self, replica, batch):
        """Returns {blob: (n, numbers) float32}.

        The score of each example is that of a batch with only this example.
        """
        values, _ = values_and_columns = self._compute_blobs(replica, batch, scored=False)
        values = values | self._scores_of_each(values_and_columns[1], batch)
        return {name: as_rows(values[name], len(batch)) for name in self.names}

    def _compute_blobs(self, replica, batch, scored=True):
        """Returns {blob: (n, ...)}, and the scores, or the values to compute them from."""
        inputs = {name: batch.columns[column] for name, column in self.columns.items()}
        places = {place.name for place in self.net.conf.stack}
        parts = [name for names in self.stacked.values() for name in names]
        vertices = [*blobs_to_score(self.net), *(set(self.sources.values()) & places), *parts]
        outputs = tuple(dict.fromkeys(vertices))
        given = inputs | (replica.forward(batch, outputs) if outputs else {})
        values = {blob: given[source] for blob, source in self.sources.items()}
        for blob, names in self.stacked.items():
            values[blob] = np.concatenate([given[name] for name in names])
        return values, scores_of(self.net, given, batch.columns) if scored else given

    def _scores_of_each(self, given, batch):
        """Returns {score: (n, numbers)}."""
        if not self.net.scores:
            return {}
        each = [
            scores_of(self.net, piece(given, i), piece(batch.columns, i)) for i in range(len(batch))
        ]
        return {
            score.blob: np.stack([np.reshape(one[score.blob], -1) for one in each])
            for score in self.net.scores
        }


def piece(arrays, i):
    """Returns the arrays reduced to example i."""
    return {name: x[i : i + 1] for name, x in arrays.items()}


def as_rows(x, n):
    return np.asarray(x, np.float32).reshape(n, -1)


def blobs_of(net, names, flag="-features", stacked=None):
    """Returns the Blobs with these names.

    Parameters
    ----------
    net : CaffeNet
    names : sequence of str
    flag : str
        The flag or command that asks for them, for errors.
    stacked : {blob: vertices}, optional
        CaffeNet.stacked, if no rows are wanted: its blobs have no row for each example.

    Raises
    ------
    ConfigError
        If the net has no such blob, or nothing computes it.
    """
    scores = dict.fromkeys(score.blob for score in net.scores)
    labels = label_columns(net)
    known = [*net.blobs, *labels, *scores, *(stacked or ())]
    for name in names:
        if name not in known:
            blobs = ", ".join(dict.fromkeys(known))
            raise ConfigError(
                f"{flag} must name blobs of {net.name or 'the net'} in phase TEST: {blobs}; "
                f"got {name!r}{suggestion(name, known, '')}"
            )
    parted = {blob: parts for blob, parts in (stacked or {}).items() if blob in names}
    others = [name for name in names if name not in scores and name not in parted]
    sources = {name: net.blobs.get(name, name) for name in others}
    inputs = {name: column for column, name in net.conf.feature_columns.items()}
    return Blobs(
        net=replace(
            net, data=(), layers={}, scores=tuple(s for s in net.scores if s.blob in names)
        ),
        names=tuple(names),
        sources=sources,
        stacked=parted,
        columns=inputs | {name: labels[name] for name in sources.values() if name in labels},
    )


def label_columns(net):
    """Returns {label blob: column} of labels that no layer reads as input."""
    columns = {}
    for data in net.data:
        columns |= unread_columns(data)
        columns |= {blob: col for blob, col in data.columns.items() if blob not in data.shapes}
    return columns
