"""Evaluations with the names of classes."""

from collections.abc import Sequence

from sparkdl.ml.outputs import kind_of_output
from sparkdl.nn import Conf
from sparkdl.spark.inference.output_columns import CLASSES, YES_OR_NO
from sparkdl.training.evaluation import Evaluation, evaluation_for


def with_names(evaluation: Evaluation, conf: Conf, labels: Sequence[str] | None) -> Evaluation:
    """Returns the evaluation with its classes named; as it is where names are not those of all.

    One output that says yes or no has the name of the class that is a yes, the second.
    """
    names = names_of_outputs(conf, labels or ())
    if names is None:
        return evaluation
    named = evaluation_for(conf.loss, conf.output_size, names)
    for counts in evaluation.sums:
        setattr(named, counts, getattr(evaluation, counts))
    if kind_of_output(conf.main) == CLASSES:
        named.wrong = named.wrong.named(names)
    return named


def names_of_outputs(conf: Conf, labels: Sequence[str]) -> tuple[str, ...] | None:
    """Returns a name for each output, or None where the classes' names do not fit them."""
    kind = kind_of_output(conf.main)
    if kind == CLASSES and len(labels) == conf.output_size:
        return tuple(labels)
    return (labels[1],) if kind == YES_OR_NO and len(labels) == 2 else None
