"""Single options changed from the command line: --set training.averaging_frequency=10."""

from sparkdl.config import text
from sparkdl.errors import ConfigError

FREE_KEYS = "spark.config."  # the rest is one key of Spark, dots and all


def apply(options, setting):
    """Changes nested dicts in place by "epochs=3" or "network.layers.0.filters=8".

    The value is YAML. Whether a key exists is for those to say who read the dicts.

    Raises
    ------
    ConfigError
        For a text without "=", a value that is not YAML, or a path through something without keys.
    """
    path, equals, value = setting.partition("=")
    if not equals or not path:
        raise ConfigError(f"a setting must be key=value, such as epochs=3, got {setting!r}")
    *parents, last = keys(path)
    for i, key in enumerate(parents):
        options = enter_section(options, key, ".".join(parents[: i + 1]))
    place = position(options, last, path) if isinstance(options, list) else last
    options[place] = text.from_yaml(f"value: {value}")["value"]


def keys(path):
    """Returns "a.b" as ["a", "b"]"""
    if path.startswith(FREE_KEYS):
        return [*FREE_KEYS.rstrip(".").split("."), path.removeprefix(FREE_KEYS)]
    return path.split(".")


def enter_section(options, key, path):
    """Returns the dict or list at `key`, made where there is none."""
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
    """Returns the index that a key into a list means."""
    if not (key.isdecimal() and int(key) < len(options)):
        raise ConfigError(f"{path} must end in a number from 0 to {len(options) - 1}, got {key!r}")
    return int(key)
