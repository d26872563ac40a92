"""Detection of features and labels passed as two arrays, as in Keras, instead of together."""

from typing import Any

from sparkdl.errors import ConfigError

# How to pass both to each class.
TOGETHER = {
    "Network": "give them as one pair: {call}((x, y){more})",
    "SparkNetwork": "give an RDD or a DataFrame, or both as a source: {call}(Arrays(x, y){more})",
}
KINDS = "a Batch, (features, labels) or a source"


def refuse_separate_labels(
    owner: str, call: str, known: list[str], values: tuple[Any, ...]
) -> None:
    """Raises ConfigError if data is an array, or two arrays instead of one pair.

    Parameters
    ----------
    owner, call : str
        Class and method.
    known : list of str
        Options of the method in order, starting with the data.
    values : tuple
        Its positional arguments.
    """
    if owner not in TOGETHER or not is_array(values[0]):
        return
    more = ", epochs=1" if "epochs" in known else ""
    cure = TOGETHER[owner].format(call=call, more=more)
    if len(values) > 1 and is_array(values[1]) and "layers" not in known[:2]:
        raise ConfigError(f"{owner}.{call} takes features and labels together; {cure}")
    if owner == "Network" and not hasattr(values[0], "to_numpy"):  # tables have columns for both
        raise ConfigError(f"data must be {KINDS}, got {name_of(type(values[0]))}; {cure}")


def is_array(value: Any) -> bool:
    """Returns whether a value is an array, tensor, table or list: neither a number nor a source."""
    if hasattr(value, "splits") and hasattr(value, "read"):
        return False
    has_values = hasattr(value, "__array__") and getattr(value, "shape", ()) != ()
    return isinstance(value, list) or has_values


def name_of(kind: type) -> str:
    """Returns the name of a class with its module, such as "numpy.ndarray", or "list"."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
