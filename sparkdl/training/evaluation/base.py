"""Base class of evaluations: counts that executors fill and the driver merges."""

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sparkdl.data.records.label_facts import NO_WEIGHT, nothing_to_evaluate
from sparkdl.errors import ConfigError, DataError, brief, require
from sparkdl.training.evaluation.metric_counts import MetricCounts
from sparkdl.training.evaluation.wrong_examples import WrongExamples

ROUNDING = 1e-5


class Evaluation:
    """Counts of predictions and labels, from which every metric is computed.

    Small and picklable. A subclass is a dataclass whose fields are its options and names in `sums`
    the attributes that add up; `add` fills them.

    Attributes
    ----------
    weight : float
        Sum of the examples' weights; without weights their number. Means divide by it, but for
        the loss.
    has_loss : bool
        Whether the loss is known. It is, but for some ensembles; `figures` leave it out then.
    wrong : sequence of WrongExample
        Of the 12 examples with the largest losses, the largest first: label, prediction, and the
        example as a small picture or as its first numbers. Networks fill it as they evaluate, also
        on executors; an evaluation that is given only predictions has none.
    metrics : MetricCounts
        Of the metrics that were given to `fit` or `evaluate`; `figures` include them.
    """

    sums: ClassVar[tuple[str, ...]] = ("examples", "weight", "loss_sum", "wrong", "metrics")
    has_loss = True

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # figures that only some kinds have

    def __post_init__(self) -> None:
        self.examples = 0
        self.weight = self.loss_sum = 0.0
        self.wrong = WrongExamples()
        self.metrics = MetricCounts()

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Counts a batch in and returns self.

        Parameters
        ----------
        predictions : (n, k) floats
            What `predict` gives.
        labels : (n,) or (n, k)
            The truth.
        losses : (n,) floats or None
            Loss of each example as the network computes it, times its weight; None computes the one
            that goes with the kind of evaluation from the predictions.
        weights : (n,) floats or None
            How much each example counts, >= 0; None: 1 each. The loss is the mean of losses times
            weights, as in training; other figures are those of scikit-learn's sample_weight.

        Raises
        ------
        DataError
            Predictions that are not finite, labels or weights that do not fit; nothing is counted
            then.
        """
        raise NotImplementedError

    def merge(self, other: Self) -> Self:
        """Returns a new evaluation of the examples of both; the two stay as they are."""
        if repr(self) != repr(other):
            raise ConfigError(f"cannot merge {self!r} with {other!r}; options must be equal")
        merged = self.without_counts()
        for name in self.sums:
            setattr(merged, name, getattr(self, name) + getattr(other, name))
        merged.has_loss = self.has_loss and other.has_loss
        return merged

    @property
    def loss(self) -> float:
        """Mean over all examples of their losses times their weights, as in training."""
        return self.loss_sum / self.examples if self.examples else float("nan")

    @property
    def score(self) -> float:
        """The metric by which to compare networks; larger is better."""
        raise NotImplementedError

    @property
    def score_bytes(self) -> int:
        """Bytes that `drop_scores` would free, about."""
        return self.metrics.score_bytes

    def drop_scores(self) -> None:
        """Frees the single scores, of which it keeps only the areas under their curves."""
        self.metrics.drop_scores()

    def figures(self) -> dict[str, float]:
        """Returns the main metrics by name, as plain floats."""
        raise NotImplementedError

    def _known_loss(self):
        """Returns {"loss": loss}, or {} if it is not known."""
        return {"loss": self.loss} if self.has_loss else {}

    def _repr_html_(self) -> str:
        from sparkdl.training.report.notebook import evaluation_html  # needed only in notebooks

        return evaluation_html(self)

    def without_counts(self) -> Self:
        """Returns an evaluation with the same options and no examples."""
        kind: Any = type(self)  # each subclass is a dataclass
        options = [field.name for field in fields(kind)]
        return kind(**{name: getattr(self, name) for name in options})

    def _count_losses(self, losses, size, weights=None):
        losses = real_numbers(losses, "losses").astype(np.float64, copy=False)
        if losses.shape != (size,):
            raise DataError(f"{size} examples need {size} losses, got shape {losses.shape}")
        self.loss_sum += float(losses.sum())
        self.examples += size
        self.weight += size if weights is None else float(weights.sum())


def require_examples(evaluation, why_none=""):
    """Raises DataError unless some example of an evaluation counts; `why_none` says why none is."""
    if not evaluation.examples:
        raise nothing_to_evaluate(why_none)
    if not evaluation.weight:
        raise nothing_to_evaluate(f": {NO_WEIGHT}")


def set_names(evaluation, size):
    """Sets an evaluation's labels to the names of `size` columns, by default their numbers."""
    given, must_be = evaluation.labels, f"{size} names"
    require(evaluation, "labels", given is None or isinstance(given, Iterable), must_be)
    evaluation.labels = numbers_of(size) if given is None else tuple(map(str, given))
    require(evaluation, "labels", len(evaluation.labels) == size, must_be)


def numbers_of(size):
    """Returns the default names of `size` columns."""
    return tuple(map(str, range(size)))


def real_numbers(values, name):
    """Returns `values` as an array of numpy's real types, converted to float64 if necessary.

    Raises DataError for non-numeric texts, complex numbers, and ragged rows.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind != "c":
            return array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise DataError(f"{name} must be an array of real numbers, got {brief(values)}")


def check_weights(weights, size):
    """Returns `weights` as float64 if they are None or `size` finite numbers >= 0."""
    if weights is None:
        return None
    weights = real_numbers(weights, "weights").astype(np.float64, copy=False)
    if weights.shape != (size,):
        raise DataError(f"{size} examples need {size} weights, got shape {weights.shape}")
    wrong = ~((weights >= 0) & (weights < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"weights must be finite and >= 0, got {weights[row]} in example {row}")
    return weights


def weigh(values, weights):
    """Returns values (n, ...) times the weights of examples (n,), or unchanged without weights."""
    if weights is None:
        return values
    return values * weights.reshape(-1, *[1] * (values.ndim - 1))


def check_predictions(predictions, width):
    """Returns `predictions` as float64 if they are `width` finite numbers per example."""
    return finite_table(predictions, width).astype(np.float64, copy=False)


def finite_table(predictions, width):
    """Returns `predictions` as floats of their own type; see `check_predictions`."""
    predictions = real_numbers(predictions, "predictions")
    if predictions.dtype.kind != "f":
        predictions = predictions.astype(np.float64)
    if predictions.ndim != 2 or predictions.shape[1] != width:
        raise DataError(f"predictions must have shape (n, {width}), got {predictions.shape}")
    if predictions.size and not np.isfinite([predictions.min(), predictions.max()]).all():
        row, column = np.argwhere(~np.isfinite(predictions))[0]
        value = predictions[row, column]
        raise DataError(f"predictions must be finite, got {value} in example {row} at {column}")
    return predictions


def check_probabilities(predictions, width):
    """Returns `predictions` as float64 if they are `width` numbers in [0, 1] per example.

    Rounding in fast float32 kernels may exceed that range slightly.
    """
    return clipped(probability_table(predictions, width))


def probability_table(predictions, width):
    """Returns `predictions` as floats of their own type; see `check_probabilities`."""
    predictions = finite_table(predictions, width)
    low, high = np.float64(-ROUNDING), np.float64(1 + ROUNDING)
    if predictions.size and (predictions.min() < low or predictions.max() > high):
        row, column = np.argwhere((predictions < low) | (predictions > high))[0]
        value = np.float64(predictions[row, column])
        raise DataError(f"probabilities must be in [0, 1], got {value} in example {row}")
    return predictions


def clipped(predictions):
    """Returns a copy of probabilities as float64 in [0, 1]."""
    copy = np.array(predictions, np.float64)
    return np.clip(copy, 0, 1, out=copy)


def check_values(labels, shape):
    """Returns `labels` as float64 if they are finite and of `shape`; (n,) stands for (n, 1)."""
    labels = real_numbers(labels, "labels").astype(np.float64, copy=False)
    if labels.ndim == 1 and shape[1] == 1:
        labels = labels[:, np.newaxis]
    if labels.shape != shape:
        raise DataError(f"predictions {shape} need labels {shape}, got {labels.shape}")
    if not np.isfinite(labels).all():
        row, column = np.argwhere(~np.isfinite(labels))[0]
        value = labels[row, column]
        raise DataError(f"labels must be finite, got {value} in example {row} at {column}")
    return labels
