"""Origin of a net, so that errors can give file and line."""

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass

from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError

TOKEN = re.compile(
    r"""\#[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | [{}<>] | [\w.]+""", re.VERBOSE
)


@dataclass(frozen=True)
class Origin:
    """The file of a net, and its text, which is empty if unknown."""

    path: str
    text: str = ""

    def places(self, message, layers):
        """Returns the place of each of `layers`, which are those of `message` in Caffe 1.0 form."""
        named = [one.layer if is_v0(one) else one for one in message.layers or message.layer]
        lines, starts = layer_lines(self.text), {}
        if len(lines) == len(named):
            starts = dict(zip(occurrences(named), lines, strict=True))
        offset = 1 if message.input else 0  # an extra layer for inputs given beside the layers
        keys = [None] * offset + occurrences(layers[offset:])
        return [self.place(layer, starts.get(key)) for layer, key in zip(layers, keys, strict=True)]

    def place(self, layer, line):
        """Returns file, line and name of a layer."""
        where = f"{self.path}, line {line}" if line else str(self.path)
        if layer.name:
            where += f", layer {layer.name!r}"
        return where if line and layer.name else f"{where} of type {layer.type!r}"


@contextmanager
def name_errors(place):
    """Prefixes errors in the block with the place."""
    try:
        yield
    except (ConfigError, ShapeError, UnsupportedError, DataError) as error:
        raise type(error)(f"{place}: {error}") from error


def is_v0(layer):
    return layer.DESCRIPTOR.name == "V1LayerParameter" and layer.HasField("layer")


def occurrences(layers):
    """Returns [(name, number of previous layers with that name)]."""
    seen, places = Counter(), []
    for layer in layers:
        places.append((layer.name, seen[layer.name]))
        seen[layer.name] += 1
    return places


def layer_lines(text):
    """Returns the line numbers, from 1, at which the layers of a net start."""
    return [line for name, line in outer_fields(text) if name in ("layer", "layers")]


def outer_fields(text):
    """Yields (word, line) of all words outside braces: top-level fields and values."""
    line, at = 1, 0
    for token, depth in tokens(text):
        line, at = line + text.count("\n", at, token.start()), token.start()
        if depth == 0 and token[0] not in "{}<>":
            yield token[0], line


def blocks(text, name):
    """Returns the texts in braces of top-level fields of this name, keeping their line numbers."""
    last, start, block_list = "", 0, []
    for token, depth in tokens(text):
        if depth == 0 and token[0] in "{<":
            start = token.end()
        elif depth == 1 and token[0] in "}>" and last == name:
            before = "\n" * text.count("\n", 0, start)
            block_list.append(before + text[start : token.start()])
        elif depth == 0:
            last = token[0]
    return block_list


def tokens(text):
    """Yields (match, nesting depth in braces) of each word and brace.

    An opening brace is outside its block, a closing one inside.
    """
    depth = 0
    for token in TOKEN.finditer(text):
        if token[0].startswith("#"):
            continue
        yield token, depth
        depth += (token[0] in "{<") - (token[0] in "}>")
