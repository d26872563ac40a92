"""Any model's outputs as columns of a DataFrame."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sparkdl.config import is_integer
from sparkdl.data.readers.encodings.arrow_columns import KINDS
from sparkdl.errors import ConfigError, DataError, brief
from sparkdl.interop.predictors import Predictor, choose_predictor
from sparkdl.spark.connect.sessions import context_of, is_connect, is_frame
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.error_column import check_on_error, reasons_field
from sparkdl.spark.inference.model_rows import ModelColumns
from sparkdl.spark.inference.nested_columns import nested_field
from sparkdl.spark.inference.predictions import check_kept, check_new, narrow_frame, places_of
from sparkdl.spark.jobs.lasting_values import LASTING
from sparkdl.spark.jobs.running_context import was_stopped
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.records.frame_schema import WHERE, has_numbers

Prepare = Callable[[dict[str, list[Any]]], dict[str, Any]]


def predict_column(
    frame: DataFrame,
    model: Any,
    inputs: str | dict[str, str] | None = None,
    outputs: str | Iterable[str] | dict[str, str] | None = None,
    *,
    prepare: Prepare | None = None,
    on_error: str = "raise",
    error: str = "error",
    batch_size: int = 64,
    batch_bytes: int = 32 * 2**20,
    keep: str | Iterable[str] | None = None,
) -> DataFrame:
    """Returns a DataFrame, batch or streaming, with the outputs of any model as columns.

    It is lazy and computes on the executors' CPUs. A Python process loads the model once for all
    its tasks, and prepares the next rows while it computes. Rows whose arrays differ in shape
    (sequences, images) are computed in groups of one shape, without padding.

    Parameters
    ----------
    frame : DataFrame
    model
        A Network, SparkNetwork, TorchModel or KerasModel; a folder that `save` wrote; a .onnx,
        .keras, .h5 or (Deeplearning4j) .zip file, local or a URI; an OnnxPredictor, TorchPredictor
        or KerasPredictor, or your own Predictor. sparkdl's engine computes files; onnxruntime
        computes only an OnnxPredictor.
    inputs : str or {input: column}, optional
        Columns that the model reads; a single name serves a model with one input. None: columns
        named like the inputs. Columns hold numbers, nested lists, pyspark.ml vectors, or bytes.
    outputs : str, sequence of str or {output: column}, optional
        Outputs to add, with the names of their columns; a single name is the column of a model's
        only output. None: all outputs, under their own names.
    prepare : function, optional
        Turns a few rows, {column: list of values} with the columns of `frame`, into inputs, {input:
        array (n, ...)}: for texts, compressed images and the like. If it fails, it is called again
        for each row alone. If it returns a different number of rows, the job fails, whatever
        `on_error` says.
    on_error : str
        What to do with a row whose inputs are unusable, or on which the model fails. "raise": the
        job fails and names the row. "null": its outputs are null. "column": the same, and the
        column `error` gives the reason; it is null for other rows.
    error : str
        Name of the error column.
    batch_size : int
        Largest number of rows to compute at once.
    batch_bytes : int
        Largest size of the inputs to compute at once, in bytes, and of the outputs if their shape
        is known; large rows make smaller batches. Memory use may reach a few times this, plus the
        rows that Spark hands over at once.
    keep : str or sequence of str, optional
        Columns of `frame` to keep. None: all.

    Returns
    -------
    DataFrame. An output is a number, or nested lists with one level for each axis of an example.

    Raises
    ------
    ConfigError
        The model is of another kind, an option is invalid, or a name is unknown or taken. From a
        task: `prepare` or your own Predictor returns the wrong arrays.
    DataError
        A column is missing or cannot be numbers, or the file is damaged.
    UnsupportedError
        The file needs an operation or a package that is not available.

    Examples
    --------
    >>> predict_column(df, "hdfs:///models/net.onnx", "features", "score")  # doctest: +SKIP
    """
    check_options(frame, prepare, on_error, error, batch_size, batch_bytes)
    keep = several_names("keep", keep)
    predictor = choose_predictor(model)
    columns = input_columns(frame.schema, predictor, inputs, prepare)
    names = column_names(predictor, outputs)
    new = [nested_field(column, predictor.outputs[name]) for name, column in names.items()]
    new += reasons_field(on_error, error)
    if prepare is None:  # `prepare` sees all columns
        frame = narrow_frame(frame, columns.values(), keep)
    kept = [*places_of(frame.schema.names, keep)]
    fields = [frame.schema.fields[place] for place in kept]
    check_kept(fields)
    check_new([field.name for field in fields], new)
    task = ModelColumns(
        key=uuid.uuid4().hex,
        shared=share(frame, (predictor, prepare)),
        inputs=columns,
        outputs=names,
        kept=kept,
        batch_size=batch_size,
        batch_bytes=batch_bytes,
        error=error if on_error == "column" else None,
        fails=on_error == "raise",
    )
    return map_in_arrow(frame, task.extend, StructType([*fields, *new]))


def check_options(frame, prepare, on_error, error, batch_size, batch_bytes):
    """Raises ConfigError for an invalid option of predict_column."""
    require("frame", is_frame(frame), "a DataFrame of Spark", frame)
    if was_stopped(context_of(frame.sparkSession)):
        raise ConfigError(
            "predict_column.frame must belong to a running Spark session, got one of a stopped "
            "session; make a new session and the DataFrame in it"
        )
    require("prepare", prepare is None or callable(prepare), "a function or None", prepare)
    check_on_error("predict_column", on_error, error)
    for name, value in (("batch_size", batch_size), ("batch_bytes", batch_bytes)):
        require(name, is_integer(value, 1), "an integer >= 1", value)


def require(option, sound, constraint, value):
    """Raises ConfigError unless an option of predict_column is sound."""
    if not sound:
        raise ConfigError(f"predict_column.{option} must be {constraint}, got {brief(value)}")


def several_names(option, given):
    """Returns one or several names as a list, or None."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else given
    names = [*names] if isinstance(names, Iterable) else [names]
    require(option, all_names(names), "a name, several names or None", given)
    return names


def all_names(given):
    return all(isinstance(name, str) for name in given)


def input_columns(fields, predictor, inputs, prepare):
    """Returns {input: column} of the columns that the model reads."""
    known = [*predictor.inputs]
    if prepare is not None:
        require("inputs", inputs is None, "None where prepare makes the inputs", inputs)
        return dict.fromkeys(known, "")
    if isinstance(inputs, str):
        require("inputs", len(known) == 1, f"a dict of {known}", inputs)
        inputs = {known[0]: inputs}
    inputs = {name: name for name in known} if inputs is None else inputs
    sound = isinstance(inputs, Mapping) and all_names(inputs.values())
    require("inputs", sound, "the name of a column or {input: column}", inputs)
    require("inputs", set(inputs) == set(known), f"those of the model, {known}", inputs)
    for column in inputs.values():
        places_of(fields.names, column)
        kind = fields[column].dataType
        if not has_numbers(kind):
            cure = "; prepare makes inputs of texts and other things"
            got = f"{kind.simpleString()}{cure}"
            raise DataError(f"{WHERE}: column {column!r} must hold {KINDS}, got {got}")
    return inputs


def column_names(predictor: Predictor, outputs: Any) -> dict[str, str]:
    """Returns {output: column} of the columns to add."""
    known = [*predictor.outputs]
    if isinstance(outputs, str):
        outputs = {known[0]: outputs} if len(known) == 1 else [outputs]
    if not isinstance(outputs, Mapping):
        names = known if outputs is None else several_names("outputs", outputs)
        outputs = {name: name for name in names}
    sound = all_names(outputs.values())
    require("outputs", sound, "names or {output: name of its column}", outputs)
    some = outputs and set(outputs) <= set(known)
    require("outputs", some, f"some of {known}", [*outputs])
    return dict(outputs)


def share(frame, value):
    """Returns a value shared with the tasks of a frame's session; ConfigError if not picklable."""
    if is_connect(frame):
        check_pickles(value)
        return LocalValue(value)
    return LASTING.share(frame.sparkSession.sparkContext, value)
