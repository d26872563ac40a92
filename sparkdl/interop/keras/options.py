"""Options of a Keras object, which must all be consumed."""

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop import options

FREE = {"name", "trainable", "dtype", "seed", "sparse", "ragged", "batch_input_shape"}


class Options(options.Options):
    """Options of one Keras object."""

    free = frozenset(FREE)


def object_of(value):
    """Returns (class name, Options) of an object written as a class and its config."""
    if isinstance(value, str):
        return value, Options({})
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        raise DataError(f"an object must have a class_name, got {str(value)[:80]!r}")
    refuse_custom(value)
    return value["class_name"], Options(value.get("config") or {})


def refuse_custom(value):
    """Raises UnsupportedError for a custom object, whose code is not in the file."""
    name, module = value.get("registered_name"), value.get("module")
    own = module is None or (isinstance(module, str) and module.split(".")[0] == "keras")
    registered = isinstance(name, str) and (">" in name or not own)
    if registered or not own:
        raise UnsupportedError(f"the custom object {name or value['class_name']!r}")
    if value["class_name"] in ("__lambda__", "function", "Lambda"):
        raise UnsupportedError("code in the file is never run")
