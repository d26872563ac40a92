"""Evaluations with class names."""

from collections.abc import Sequence

from sparkdl.ml.outputs import kind_of_output
from sparkdl.nn.networks.placement import PlacedLayer
from sparkdl.spark.inference.output_columns import CLASSES, YES_OR_NO
from sparkdl.training.evaluation import Evaluation, evaluation_for


def with_names(
    evaluation: Evaluation, place: PlacedLayer, labels: Sequence[str] | None
) -> Evaluation:
    """Returns an output's evaluation with named classes, or unchanged if the names do not fit.

    A single binary output is named after the positive class, the second one.
    """
    names = names_of_units(place, labels or ())
    if names is None:
        return evaluation
    named = evaluation_for(place.layer.loss, place.units, names)
    for counts in evaluation.sums:
        setattr(named, counts, getattr(evaluation, counts))
    if kind_of_output(place) == CLASSES:
        named.wrong = named.wrong.named(names)
    return named


def names_of_units(place: PlacedLayer, labels: Sequence[str]) -> tuple[str, ...] | None:
    """Returns a name for each unit of an output, or None if the class names do not fit."""
    kind = kind_of_output(place)
    if kind == CLASSES and len(labels) == place.units:
        return tuple(labels)
    return (labels[1],) if kind == YES_OR_NO and len(labels) == 2 else None
