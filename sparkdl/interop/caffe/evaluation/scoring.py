"""Scores of a batch in Caffe's tests: losses, accuracies, argmax."""

import numpy as np

from sparkdl.nn import AddedLoss, Comparison


def blobs_to_score(net):
    """Returns the names of the vertices in `net.conf` whose outputs `scores_of` needs."""
    places = {place.name: place for place in net.conf.stack}
    names = []
    for score in net.scores:
        if score.kind == "loss":
            names += places[score.source].sources
        else:
            names += [score.source, *([score.labels] if score.labels_blob else [])]
    return tuple(dict.fromkeys(name for name in names if name in places))


def scores_of(net, values, columns):
    """Returns the net's scores for a batch.

    Parameters
    ----------
    net : CaffeNet
    values : {name: array (n, ...)} of `blobs_to_score`, and of inputs to compare with
    columns : {column of labels: array (n, ...)}

    Returns
    -------
    {blob: float or array}
        Caffe shows the mean over the batches of a test.
    """
    places = {place.name: place for place in net.conf.stack}
    scores = {}
    for score in net.scores:
        if score.kind == "loss":
            value = loss(places[score.source], values, columns, score)
            scores[score.blob] = value * score.share
        elif score.kind == "argmax":
            scores[score.blob] = top_k_of(values[score.source], score)
        else:
            labels = (values if score.labels_blob else columns)[score.labels]
            scores[score.blob] = accuracy_score(values[score.source], labels, score)
    return scores


def loss(place, values, columns, score):
    """Returns the loss that a layer adds to the net's loss, before its weight."""
    layer, inputs = place.layer, [values[name] for name in place.sources]
    if isinstance(layer, AddedLoss):
        total = float(np.sum(inputs[0]))
        return total / len(inputs[0]) if layer.mean else total
    if isinstance(layer, Comparison):
        return float(np.mean(layer.compare(inputs)))
    return float(np.mean(layer.per_example(inputs[0], columns[score.labels])))


def accuracy_score(z, labels, score):
    """Returns the share of labels among the `top_k` largest scores, also per class on request.

    As in Caffe, a score equal to the label's own counts as larger.
    """
    z = np.moveaxis(z, 1 + score.axis, -1)
    rows, labels = z.reshape(-1, z.shape[-1]), np.asarray(labels).reshape(-1).astype(int)
    counted = (
        np.ones(len(labels), bool) if score.ignore_label is None else labels != score.ignore_label
    )
    rows, labels = rows[counted], labels[counted]
    of_labels = np.take_along_axis(rows, labels[:, None], 1)
    hits = (rows >= of_labels).sum(1) - 1 < score.top_k
    if score.kind == "accuracy":
        return float(hits.mean()) if len(hits) else 0.0
    counts = np.bincount(labels, minlength=rows.shape[1])
    return np.bincount(labels, hits, rows.shape[1]) / np.maximum(counts, 1)


def top_k_of(x, score):
    """Returns the indices of the `top_k` largest, the last first among equals; or their values.

    With an axis, the values replace the indices; otherwise they follow them: (n, 2, top_k).
    """
    flat = score.axis is None
    x = x.reshape(len(x), -1) if flat else x
    axis = 1 if flat else 1 + score.axis
    order = np.flip(np.argsort(x, axis, kind="stable"), axis)
    order = np.take(order, range(score.top_k), axis)
    values = np.take_along_axis(x, order, axis)
    if not flat:
        return values if score.values else order.astype(x.dtype)
    return np.stack([order.astype(x.dtype), *([values] if score.values else [])], 1)
