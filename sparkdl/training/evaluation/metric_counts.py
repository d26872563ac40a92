"""What an evaluation keeps for the metrics that a user has added to it."""

from collections.abc import Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, DataError, SparkdlError, brief
from sparkdl.training.evaluation.count_arrays import counts_of, with_counts
from sparkdl.training.evaluation.gathered_scores import GatheredScores


class MetricCounts:
    """Counts of a user's metrics, which add up as those of the evaluation that has them.

    Parameters
    ----------
    evaluations : {name: Evaluation}
        Metrics whose counts add up.
    functions : sequence of str
        Names of metrics that are functions of all labels and predictions. The functions stay with
        the driver: see Metrics.
    outputs : {name: output}
        The metrics that evaluate an output layer of its own, to which `by_output` adds; `add` does
        not.

    Attributes
    ----------
    scores : GatheredScores or None
        Of the functions; None where there are none, and once their values are known.
    values : {name: float}
        Of the functions, once they are known.
    """

    def __init__(
        self,
        evaluations: dict[str, Any] | None = None,
        functions: Sequence[str] = (),
        outputs: dict[str, str] | None = None,
    ) -> None:
        self.evaluations, self.functions = evaluations or {}, tuple(functions)
        self.outputs = outputs or {}
        self.scores = GatheredScores() if self.functions else None
        self.values: dict[str, float] = {}

    def empty(self) -> "MetricCounts":
        """Returns counts of no examples for the same metrics."""
        made = {name: one.without_counts() for name, one in self.evaluations.items()}
        return MetricCounts(made, self.functions, self.outputs)

    @property
    def by_output(self) -> list[tuple[str, str, Any]]:
        """[(name, output layer, its Evaluation)] of the metrics that are outputs."""
        return [(name, output, self.evaluations[name]) for name, output in self.outputs.items()]

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        """Counts a batch in; the arrays are those of Evaluation.add. Functions get no weights.

        Raises
        ------
        ConfigError
            A metric fails; it is named.
        DataError
            See `require_room`.
        """
        given = () if weights is None else (weights,)  # an `add` of a user's may know of none
        for name, evaluation in self.evaluations.items():
            if name in self.outputs:
                continue
            with naming_metric(name):
                evaluation.add(predictions, labels, losses, *given)
        if self.scores is not None:
            self.scores.add(labels, predictions)
            self.require_room()

    def require_room(self) -> None:
        """Raises DataError if labels and predictions for functions exceed their limit.

        That of all examples is also that of a part, so a part that passes it ends the evaluation.
        """
        if self.scores is not None and self.scores.is_exceeded:
            raise DataError(
                f"metrics {list(self.functions)} need the labels and predictions of all records, "
                f"which exceed {self.scores.limit >> 20} MB; give subclasses of Evaluation, whose "
                "counts add up, or fewer records"
            )

    def figures(self) -> dict[str, float]:
        """Returns the metrics by name; those of functions are nan until they are known.

        An Evaluation with one figure has it under the metric's name, one with several, or of an
        output, has them as "name/figure".
        """
        found: dict[str, float] = {}
        for name, evaluation in self.evaluations.items():
            found |= self._figures_of(name, evaluation)
        return found | {name: self.values.get(name, np.nan) for name in self.functions}

    def _figures_of(self, name, evaluation):
        with naming_metric(name):
            figures = evaluation.figures().items()
        is_only = len(figures) == 1 and name not in self.outputs
        named = {name if is_only else f"{name}/{figure}": value for figure, value in figures}
        return {whole: require_number(whole, value) for whole, value in named.items()}

    def require_own_figures(self) -> None:
        """Raises ConfigError if two metrics have a figure of the same name."""
        owners: dict[str, str] = {}
        each = [(name, self._figures_of(name, one)) for name, one in self.evaluations.items()]
        for name, figures in (*each, *((name, [name]) for name in self.functions)):
            for figure in figures:
                if figure in owners:
                    raise ConfigError(
                        f"metrics[{owners[figure]!r}] and metrics[{name!r}] must have figures of "
                        f"different names, got {figure!r} of both; rename one of them"
                    )
                owners[figure] = name

    @property
    def score_bytes(self) -> int:
        """Bytes that `drop_scores` would free, about."""
        return sum(one.score_bytes for one in self.evaluations.values())

    def drop_scores(self) -> None:
        """Frees the single scores of the evaluations; see Evaluation.drop_scores."""
        for one in self.evaluations.values():
            one.drop_scores()

    def __add__(self, other: "MetricCounts") -> "MetricCounts":
        if self.values or other.values:
            raise ConfigError(
                f"cannot merge evaluations whose metrics {list(self.functions)} are functions: "
                "their labels and predictions are not kept; give subclasses of Evaluation"
            )
        names = [[*one.evaluations, *one.functions] for one in (self, other)]
        if names[0] != names[1]:
            raise ConfigError(
                f"cannot merge evaluations whose metrics differ: {names[0]} and {names[1]}"
            )
        if self.outputs != other.outputs:
            raise ConfigError(
                "cannot merge evaluations whose outputs of metrics differ: "
                f"{self.outputs} and {other.outputs}"
            )
        pairs = {name: (one, other.evaluations[name]) for name, one in self.evaluations.items()}
        merged = {name: one.merge(more) for name, (one, more) in pairs.items()}
        made = MetricCounts(merged, self.functions, self.outputs)
        if self.scores is not None and other.scores is not None:
            made.scores = self.scores + other.scores
        return made

    def arrays(self) -> list[np.ndarray]:
        """Returns all counts, as arrays."""
        arrays = [array for one in self.evaluations.values() for array in counts_of(one)]
        return arrays if self.scores is None else [*arrays, *self.scores.arrays()]

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> "MetricCounts":
        """Returns counts like these from the result of `arrays`; raises ValueError if they do not
        fit.
        """
        made, remaining = self.empty(), list(arrays)
        for evaluation in made.evaluations.values():
            number = len(counts_of(evaluation))
            with_counts(evaluation, remaining[:number])
            remaining = remaining[number:]
        if made.scores is not None:
            made.scores = made.scores.with_arrays(remaining)
        return made


@contextmanager
def naming_metric(name, when=""):
    """Raises errors of a user's metric as ConfigError with its name, and when it failed."""
    name = f"metrics[{name!r}] {when}".rstrip()
    try:
        yield
    except SparkdlError as error:
        raise ConfigError(f"{name}: {error}") from error
    except Exception as error:  # the code is a user's
        raise ConfigError(f"{name} raised {type(error).__name__}: {error}") from error


def require_number(name, value):
    """Returns the value as a float; ConfigError with the name unless it is a real number."""
    single = getattr(value, "shape", None) == () and hasattr(value, "item")  # numpy's, torch's
    value = value.item() if single else value
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ConfigError(f"metrics[{name!r}] must be a number, got {brief(value)}")
    return float(value)
