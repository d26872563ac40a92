"""Evaluations with the names of classes."""

from collections.abc import Sequence

from sparkdl.ml.outputs import kind_of_output
from sparkdl.nn import Conf
from sparkdl.spark.inference.output_columns import CLASSES
from sparkdl.training.evaluation import Evaluation, evaluation_for


def with_names(evaluation: Evaluation, conf: Conf, labels: Sequence[str] | None) -> Evaluation:
    """Returns the evaluation with its classes named; as it is where names are not those of all."""
    if kind_of_output(conf.main) != CLASSES or labels is None or len(labels) != conf.output_size:
        return evaluation
    named = evaluation_for(conf.loss, conf.output_size, tuple(labels))
    for counts in evaluation.sums:
        setattr(named, counts, getattr(evaluation, counts))
    return named
