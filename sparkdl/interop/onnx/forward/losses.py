"""Losses of class scores."""

import numpy as np

from sparkdl.interop.onnx.forward.activations import log_softmax


def negative_log_likelihood(scores, labels, weights=None, *, ignore_index=None, reduction="mean"):
    """Returns the negative log-likelihood of log probabilities (N, C, ...) for labels (N, ...)."""
    kept = np.ones(labels.shape, bool) if ignore_index is None else labels != ignore_index
    chosen = np.where(kept, labels, 0)
    loss = -np.take_along_axis(scores, np.expand_dims(chosen, 1), 1).squeeze(1)
    weight = np.ones((), scores.dtype) if weights is None else weights[chosen]
    weight = (weight * kept).astype(scores.dtype)
    if reduction == "none":
        return loss * weight
    total = np.sum(loss * weight)
    return (total if reduction == "sum" else total / np.sum(weight)).astype(scores.dtype)


def softmax_cross_entropy(scores, labels, weights=None, **options):
    """Returns (loss, log probabilities)."""
    logs = log_softmax(scores, axis=1)
    return negative_log_likelihood(logs, labels, weights, **options), logs


LOSSES = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
