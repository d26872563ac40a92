"""The outputs of a network in terms of pyspark.ml, and the StructFields of their columns."""

from collections.abc import Sequence
from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructField

from sparkdl.errors import ConfigError
from sparkdl.nn import Conf
from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.nn.networks.placement import PlacedLayer
from sparkdl.spark.inference.output_columns import CLASSES, VALUES, YES_OR_NO, OutputColumns


def kind_of_output(place: PlacedLayer) -> str:
    """Returns the kind of an output, as in OutputColumns."""
    loss = place.layer.loss
    if loss.predicts == "class":
        return CLASSES
    if isinstance(loss, SigmoidCrossEntropy) and tuple(place.out_shape) == (1,):
        return YES_OR_NO
    return VALUES


def is_flat(place: PlacedLayer) -> bool:
    """Returns whether an output is a row of numbers per record, not a sequence or image."""
    return len(place.out_shape) == 1


def class_count(place: PlacedLayer) -> int:
    """Returns the number of classes of an output."""
    return 2 if kind_of_output(place) == YES_OR_NO else place.out_shape[-1]


def fields_of(
    conf: Conf, output: OutputColumns, labels: Sequence[str] | None = None
) -> list[StructField]:
    """Returns the fields of an output's columns, with the metadata of pyspark.ml's own models.

    Predictions have the names or the number of classes, vectors their width.
    """
    [place] = [place for place in conf.outputs if place.name == output.layer]
    one = is_flat(place) and (output.kind != VALUES or place.out_shape[0] == 1)
    several: DataType = ArrayType(FloatType(), True)
    kinds: list[tuple[str, DataType]] = [(output.prediction, DoubleType() if one else several)]
    if output.kind != VALUES:
        each = VectorUDT() if is_flat(place) else several
        kinds += [(output.probability, each), (output.raw, each)]
    noted = {} if output.kind == VALUES else notes_of(place, output, labels)
    return [StructField(name, kind, True, noted.get(name)) for name, kind in kinds if name]


def check_names(stage: Any) -> None:
    """Raises ConfigError if two columns of predictions have the same name."""
    names: list[str] = []
    for param in ("predictionCol", "probabilityCol", "rawPredictionCol"):
        value = stage.getOrDefault(param)
        given = [value] if isinstance(value, str) else value
        same = [name for name in given if name and name in names]
        if same:
            must = "must be another name than those of other columns of predictions"
            raise ConfigError(f"{type(stage).__name__}.{param} {must}, got {same[0]!r}")
        names += given


def notes_of(
    place: PlacedLayer, output: OutputColumns, labels: Sequence[str] | None
) -> dict[str, dict[str, object]]:
    """Returns {column: metadata} of an output of classes."""
    named = {output.prediction: nominal(labels)} if labels else {}
    if not is_flat(place):
        return named
    count = class_count(place)
    number: dict[str, object] = {"ml_attr": {"type": "nominal", "num_vals": count}}
    width: dict[str, object] = {"ml_attr": {"num_attrs": count}}
    return {output.prediction: number, output.probability: width, output.raw: width} | named


def nominal(labels: Sequence[str]) -> dict[str, object]:
    """Returns the metadata of a column of classes, read by IndexToString."""
    return {"ml_attr": {"type": "nominal", "vals": list(labels)}}
