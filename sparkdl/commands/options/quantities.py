"""Parsers of numbers with units: 10Gb, 50us, 100e6."""

import re
from math import inf

from sparkdl.errors import ConfigError

PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
BITS = {"b": 1 / 8, "bit": 1 / 8, "B": 1.0}


def count(option, text):
    """Parses a whole number >= 1, such as 100e6 or 100M."""
    return round(read(option, text, PREFIXES, "a number >= 1 such as 25e6 or 25M", least=1))


def bandwidth(option, text):
    """Parses a bandwidth to bytes per second: 10Gb and 10Gb/s are bits, 10GB bytes."""
    units = {p + b: scale * part for p, scale in PREFIXES.items() for b, part in BITS.items()}
    text = re.sub(r"(/s|ps)$", "", text)
    return read(option, text, units, "bits or bytes a second, such as 10Gb or 1.2GB", least=1)


def duration(option, text):
    """Parses a duration to seconds."""
    return read(option, text, SECONDS, "a time such as 50us or 2.5ms", least=0)


def read(option, text, units, must_be, least):
    """Parses a number with one of the units.

    Raises ConfigError, which names the option.
    """
    match = re.fullmatch(r"\s*([\d.]+(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\s*", text)
    number, unit = match.groups() if match else ("", "")
    try:
        value = float(number) * units[unit]
    except (ValueError, KeyError):
        value = -1.0
    if not least <= value < inf:
        raise ConfigError(f"{option} must be {must_be}, got {text!r}")
    return value
