"""Configurations as text that people read and write: JSON and YAML.

YAML is read as people write it: 1e-3 is a number (PyYAML alone takes it for a string), and a key
given twice is an error rather than the last one winning.
"""

import json
import re

import yaml

from sparkdl.errors import ConfigError

FLOAT = re.compile(r"^[-+]?([0-9][0-9_]*)(\.[0-9_]*)?[eE][-+]?[0-9]+$")


class Loader(yaml.SafeLoader):
    """Safe YAML with the floats of YAML 1.2, refusing double keys."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        check_unique([(key, None) for key in keys if isinstance(key, str)])
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789"))


def to_json(options):
    """Indented JSON."""
    return json.dumps(options, indent=2, allow_nan=False) + "\n"


def from_json(text):
    """The mapping in a JSON text; ConfigError with line and column where it is not JSON."""
    try:
        return mapping(json.loads(text, object_pairs_hook=check_unique), "JSON")
    except json.JSONDecodeError as error:
        raise ConfigError(f"not valid JSON: {error}") from error


def to_yaml(options):
    """YAML with the innermost lists and mappings on one line each: a layer is a line."""
    return yaml.safe_dump(options, sort_keys=False, default_flow_style=None, width=100)


def from_yaml(text):
    """The mapping in a YAML text; ConfigError with line and column where it is not YAML."""
    try:
        return mapping(yaml.load(text, Loader), "YAML")
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from error


def mapping(value, kind):
    """`value` itself, if it is a mapping."""
    if not isinstance(value, dict):
        raise ConfigError(f"the {kind} text must hold a mapping, got {type(value).__name__}")
    return value


def check_unique(pairs):
    """A dict of key and value pairs, if no key comes twice."""
    seen = dict(pairs)
    if len(seen) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ConfigError(f"the key {double!r} is given twice")
    return seen
