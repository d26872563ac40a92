"""Limits on the size of a configuration, so that no text takes long to reject."""

from typing import Any

from sparkdl.errors import ConfigError

LONGEST_TEXT = {"JSON": 64 << 20, "YAML": 2 << 20}  # PyYAML reads about 300 KB a second
MOST_NODES = 40_000  # of YAML, counting the target of an alias each time
DEEPEST = 64
LONGEST_NUMBER = 400


def check_length(text: str, kind: str) -> None:
    """Raises ConfigError unless `text` is a str within the length limit."""
    if not isinstance(text, str):
        raise ConfigError(f"the {kind} text must be a str, got {type(text).__name__}")
    if len(text) > LONGEST_TEXT[kind]:
        most = LONGEST_TEXT[kind]
        raise ConfigError(f"the {kind} text must have at most {most} characters, got {len(text)}")


def check_number(digits: str) -> None:
    """Raises ConfigError for a number that would take long to parse."""
    if len(digits) > LONGEST_NUMBER:
        actual = f"got one of {len(digits)} characters"
        raise ConfigError(f"a number must have at most {LONGEST_NUMBER} characters, {actual}")


def check_values(value: Any, kind: str) -> None:
    """Raises ConfigError if dicts and lists are nested too deeply."""
    level, depth = [value], 0
    while level := [item for one in level for item in contents(one)]:
        depth += 1
        if depth > DEEPEST:
            raise too_deep(kind)


def too_deep(kind):
    return ConfigError(f"the {kind} text must nest mappings and lists at most {DEEPEST} deep")


def contents(value):
    """Returns the dicts and lists directly inside a dict or list."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict | list))
