"""Configurations as readable text: JSON and YAML.

Any text yields a mapping of mappings, lists, strings, numbers, true, false and null, or quickly a
short ConfigError: sizes are limited before they cost time. yaml is imported only when needed, since
executors read none.
"""

import json
from collections import Counter
from typing import Any

from sparkdl.config.limits import check_length, check_number, check_values
from sparkdl.errors import ConfigError, brief

LONGEST_MESSAGE = 400


def to_json(options: dict[str, Any]) -> str:
    """Returns indented JSON."""
    return json.dumps(options, indent=2, allow_nan=False) + "\n"


def from_json(text):
    """Returns the mapping in a JSON text.

    Raises ConfigError with line and column if it is not valid JSON.
    """
    check_length(text, "JSON")
    try:
        value = json.loads(text, object_pairs_hook=check_unique, parse_int=integer)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not valid JSON: {cut(error)}") from error
    check_values(value, "JSON")
    return mapping(value, "JSON")


def to_yaml(options: dict[str, Any]) -> str:
    """Returns YAML with the innermost lists and mappings on one line each: one line per layer."""
    import yaml

    return yaml.safe_dump(options, sort_keys=False, default_flow_style=None, width=100)


def from_yaml(text, before=0):
    """Returns the mapping in a YAML text.

    Raises ConfigError with line and column if it is not valid YAML; columns do not count the first
    `before` characters.
    """
    import yaml

    from sparkdl.config.yaml_loader import describe, load

    check_length(text, "YAML")
    try:
        return mapping(load(text), "YAML")
    except ConfigError:
        raise
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {cut(describe(error, text, before))}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"not valid YAML: {cut(error)}") from error


def integer(digits: str) -> int:
    check_number(digits)
    return int(digits)


def mapping(value, kind):
    """Returns `value`, or raises ConfigError if it is not a mapping."""
    if not isinstance(value, dict):
        raise ConfigError(f"the {kind} text must hold a mapping, got {type(value).__name__}")
    return value


def check_unique(pairs):
    """Returns a dict of key-value pairs, or raises ConfigError for a repeated key."""
    seen = dict(pairs)
    if len(seen) < len(pairs):
        [(double, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ConfigError(f"the key {brief(double)} is given twice")
    return seen


def cut(error):
    """Returns the message of an error, cut to 400 characters."""
    message = str(error) or type(error).__name__
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."
