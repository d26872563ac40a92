"""Single options set on the command line: --set training.averaging_frequency=10."""

from sparkdl.config import text
from sparkdl.errors import ConfigError

FREE_KEYS = "spark.config."  # the rest is one Spark key, including its dots


def apply(options, setting):
    """Applies "epochs=3" or "network.layers.0.filters=8" to nested dicts in place.

    The value is YAML. Unknown keys are left for the readers of the dicts to refuse.

    Raises
    ------
    ConfigError
        For a text without "=", a value that is not YAML, or a path through a value without keys.
    """
    path, equals, value = setting.partition("=")
    if not equals or not path:
        raise ConfigError(f"a setting must be key=value, such as epochs=3, got {setting!r}")
    *parents, last = keys(path)
    for i, key in enumerate(parents):
        options = enter_section(options, key, ".".join(parents[: i + 1]))
    place = position(options, last, path) if isinstance(options, list) else last
    options[place] = parse_value(path, value)


def parse_value(path, value):
    """Parses the YAML of a value; an error names the path that it is for."""
    key = "value: "
    try:
        return text.from_yaml(f"{key}{value}", before=len(key))["value"]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def keys(path):
    """Splits "a.b" into ["a", "b"]; what follows `spark.config.` is one key."""
    if path.startswith(FREE_KEYS):
        return [*FREE_KEYS.rstrip(".").split("."), path.removeprefix(FREE_KEYS)]
    return path.split(".")


def enter_section(options, key, path):
    """Returns the dict or list at `key`; creates a dict if there is none."""
    if isinstance(options, list):
        inner = options[position(options, key, path)]
    else:
        inner = options.get(key)
        if inner is None:
            inner = options[key] = {}
    if not isinstance(inner, dict | list):
        raise ConfigError(f"{path} is {inner!r} and has no keys to set")
    return inner


def position(options, key, path):
    """Returns the list index given by `key`."""
    if not (key.isdecimal() and int(key) < len(options)):
        raise ConfigError(f"{path} must end in a number from 0 to {len(options) - 1}, got {key!r}")
    return int(key)
