"""Metrics of a user's own, beside the figures that every evaluation has."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sparkdl.errors import ConfigError, brief
from sparkdl.training.evaluation.base import Evaluation
from sparkdl.training.evaluation.batch_evaluation import metrics_of_others, new_evaluation
from sparkdl.training.evaluation.metric_counts import MetricCounts, naming_metric, require_number
from sparkdl.training.evaluation.selection import column_to_judge
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import EpochReport, ValidationReport

Metric = type[Evaluation] | Evaluation | Callable[..., float] | str
MetricsGiven = Mapping[str, Metric] | Iterable[Metric] | None
KINDS = (
    "a subclass of Evaluation, an Evaluation, the name of an output, or a function (labels, "
    "predictions) -> float"
)


class Metrics(Listener):
    """The checked `metrics` of `fit` or `evaluate`; during a fit it hears of evaluations first.

    Parameters
    ----------
    counts : MetricCounts
        Without examples; each new evaluation gets such counts.
    functions : {name: function}
        They are called in the driver's process only.
    """

    def __init__(self, counts: MetricCounts, functions: dict[str, Callable[..., float]]) -> None:
        self.counts, self.functions = counts, functions

    def __bool__(self) -> bool:
        return bool(self.counts.evaluations or self.functions)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the figures."""
        return tuple(self.counts.figures())

    @property
    def given(self) -> dict[str, Any]:
        """The metrics by name, as `metrics_of` takes them."""
        return self.counts.evaluations | self.counts.outputs | self.functions

    def check_sending(self, dumps: Callable[[Any], Any], functions: bool = False) -> None:
        """Raises ConfigError with the name of a metric that cannot be sent to other processes.

        Parameters
        ----------
        dumps : function
            Pickles a value, or raises an error.
        functions : bool
            Whether functions are sent, too.
        """
        for name, metric in (self.given if functions else self.counts.evaluations).items():
            try:
                dumps(metric)
            except Exception as error:  # pickled classes may raise anything
                raise ConfigError(
                    f"metrics[{name!r}] must travel to other processes, but cannot be pickled: "
                    f"{error}"
                ) from error

    def on_epoch(self, report: EpochReport, state: Any) -> None:
        if report.validation is not None:
            self.compute(report.validation)

    def on_validation(self, report: ValidationReport, state: Any) -> None:
        self.compute(report.validation)

    def compute(self, evaluation: Evaluation) -> None:
        """Computes the functions of an evaluation of all records, and frees what they needed.

        Raises
        ------
        ConfigError
            A metric raises an error, or is not a number; it is named.
        DataError
            Labels and predictions take more than the limit of GatheredScores.
        """
        counts = evaluation.metrics
        if counts.scores is not None:
            counts.require_room()
            counts.values = self._values(counts.scores)
            counts.scores = None
        counts.figures()

    def _values(self, scores):
        if not scores.nbytes:  # of no example all labels were known
            return dict.fromkeys(self.functions, float("nan"))
        labels, predictions = scores.both()
        values = {}
        for name, function in self.functions.items():
            with naming_metric(name):
                value = function(labels, predictions)
            values[name] = require_number(name, value)
        return values


def metrics_of(given: MetricsGiven, conf: Any, output: str | None = None) -> Metrics:
    """Returns the Metrics of an option `metrics` for the network of a conf.

    Where the output's loss ignores labels, metrics get the examples (steps, pixels) whose labels
    are all known; one that is a function is nan without any.

    Parameters
    ----------
    given : {name: metric}, sequence of metrics, or None
        Metrics of a sequence have the names of their functions or classes. Classes are called with
        the number of units of the output. The name of an output layer stands for all its figures.
    output : str, optional
        The output to evaluate; None: the main one. If there are no metrics either, the others that
        read labels are metrics.

    Raises
    ------
    ConfigError
        For a metric of another kind, without a name of its own, or with a figure of the name of
        another; or where the output to evaluate reads no labels.
    """
    if given is None:
        return Metrics(metrics_of_others(conf, output), {})
    evaluations, functions, outputs = {}, {}, {}
    layers = list(conf.outputs_by_name)
    for name, metric in by_name(given, layers).items():
        if isinstance(metric, str) and metric in layers:
            evaluations[name], outputs[name] = new_evaluation(conf, metric), metric
        elif isinstance(metric, Evaluation) or is_evaluation_class(metric):
            evaluations[name] = new_metric(name, metric, conf.output_named(output).units)
        elif callable(metric):
            functions[name] = metric
        else:
            known = f"; outputs are {layers}" if isinstance(metric, str) else ""
            raise ConfigError(f"metrics[{name!r}] must be {KINDS}, got {brief(metric)}{known}")
    metrics = Metrics(MetricCounts(evaluations, tuple(functions), outputs), functions)
    if metrics:
        column_to_judge(conf, output)
        metrics.counts.require_own_figures()
    figures = new_evaluation(conf, output).figures() if metrics else {}
    taken = sorted(set(figures) & set(metrics.names))
    if taken:
        raise ConfigError(
            f"metrics must have names that evaluations do not have yet, got {taken}; those are "
            f"{list(figures)}"
        )
    return metrics


def by_name(given, layers):
    """Returns {name: metric} of the option `metrics`, given the names of output layers."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if isinstance(given, str) or not isinstance(given, Iterable):
            cure = f"; give [{given!r}]" if isinstance(given, str) and given in layers else ""
            raise ConfigError(f"metrics must be {{name: metric}}, got {brief(given)}{cure}")
        return named(list(given), layers)
    for name in given:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"metrics must have names that are texts, got {brief(name)}")
    return dict(given)


def named(metrics, layers):
    """Returns {name: metric} of metrics that are named by their functions, classes or outputs."""
    names = [one if isinstance(one, str) else getattr(one, "__name__", None) for one in metrics]
    for name, metric in zip(names, metrics, strict=True):
        if isinstance(metric, str) and metric not in layers:
            raise ConfigError(
                f"metrics must be {KINDS}, got {brief(metric)}; evaluations have the standard "
                f"figures anyway, and outputs are {layers}"
            )
        if name is None or name == "<lambda>" or names.count(name) > 1:
            raise ConfigError(
                f"metrics must have one name each, got {brief(metric)}; give {{name: metric}}"
            )
    return dict(zip(names, metrics, strict=True))


def is_evaluation_class(metric):
    return isinstance(metric, type) and issubclass(metric, Evaluation)


def new_metric(name, metric, units):
    """Returns an Evaluation without examples; classes are called with the number of outputs."""
    with naming_metric(name, "without examples"):
        made = metric(units) if isinstance(metric, type) else metric.without_counts()
        made.figures()
    return made
