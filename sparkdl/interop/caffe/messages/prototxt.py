"""Parsing of Caffe's text files, with errors that name the line."""

import re

from google.protobuf import text_format

from sparkdl.config import suggestion
from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError

LAYER = re.compile(r"^\s*layers?\s*:?\s*\{")
NAME = re.compile(r'\bname\s*:\s*["\']([^"\']*)["\']')
UNKNOWN = re.compile(r'Message type "\S*?(\w+)" has no field named "(\w+)"')


def text_of(path):
    """Returns the text of a file, local or a URI; raises DataError if it is missing or not text."""
    with files.open(path) as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} must be a text file: {error}") from error


def parse_text(text, kind, path="<text>"):
    """Parses `text` as a message of class `kind`.

    Raises
    ------
    ConfigError
        If Caffe does not know a field or value; names `path`, line and layer.
    """
    try:
        return text_format.Parse(text, kind())
    except text_format.ParseError as error:
        line = error.GetLine() or 1
        why = re.sub(r"^\d+:\d+ : ", "", str(error))
        raise ConfigError(f"{place(text, path, line)}: {explain_parse_error(why, kind)}") from None


def place(text, path, line):
    """Returns file, line, and the layer that the line is in."""
    lines = text.splitlines()
    start = next((i for i in range(min(line, len(lines)) - 1, -1, -1) if LAYER.match(lines[i])), -1)
    end = next((i for i in range(line, len(lines)) if LAYER.match(lines[i])), len(lines))
    match = NAME.search("\n".join(lines[start:end])) if start >= 0 else None
    return f"{path}, line {line}" + (f", layer {match[1]!r}" if match else "")


def explain_parse_error(why, kind):
    """Returns protobuf's message, with a suggestion for an unknown field."""
    unknown = UNKNOWN.search(why)
    if unknown is None:
        return why
    message, field = unknown.groups()
    known = kind.DESCRIPTOR.file.message_types_by_name[message].fields_by_name
    return f"{message} has no field {field!r}{suggestion(field, list(known), '')}"
