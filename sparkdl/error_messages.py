"""Errors as JSON, the form in which they travel between processes."""

import json
from traceback import TracebackException

from sparkdl import errors
from sparkdl.errors import SparkdlError, WorkerError

KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, SparkdlError)
}
# Lengths in characters, and a number of notes: at up to 12 bytes per character, an error fits into
# the 1 MB of JSON of a message.
LONGEST, LONGEST_NOTE, MOST_NOTES = 2500, 8000, 8


def error_to_json(error):
    """Returns a JSON object from which `error_from_json` restores the error.

    An error whose class is not in sparkdl.errors is sent as its nearest base class there. An error
    that is no SparkdlError is sent by its name, with its traceback as a note.
    """
    described = TracebackException.from_exception(error)
    text, notes = str(described), getattr(error, "__notes__", None)
    notes = [str(note) for note in notes] if isinstance(notes, list) else []
    for kind in type(error).__mro__:
        if KINDS.get(kind.__name__) is kind:
            arguments = [text] if kind.types == (str,) else error.args
            if can_make(kind, arguments):
                return to_json(kind.__name__, arguments, notes)
    return to_json(full_name(type(error)), [text], ["".join(described.format()), *notes])


def error_from_json(meta, whose="a worker"):
    """Restores an error from `error_to_json`, with class, text, attributes and notes.

    Errors that are no SparkdlError, and invalid input, become a WorkerError whose text begins with
    `whose`.
    """
    error = error_without_notes(meta, whose)
    notes = meta.get("notes") if isinstance(meta, dict) else None
    for note in shorten_notes(notes) if isinstance(notes, list) else ():
        if isinstance(note, str):
            error.add_note(note)
    return error


def error_to_text(error):
    """Returns JSON text from which `error_from_text` restores the error."""
    return json.dumps(error_to_json(error))


def error_from_text(text, whose="a worker"):
    """Restores an error from JSON text; raises ValueError or RecursionError if it is no JSON."""
    return error_from_json(json.loads(text), whose)


def error_without_notes(meta, whose):
    match meta:
        case {"error": str(name), "arguments": list(arguments)} if can_make(
            KINDS.get(name), arguments
        ):
            return KINDS[name](*map(shorten, arguments))
        case {"error": str(name), "arguments": [str(text)]}:
            return WorkerError(shorten(f"{whose}: {name}: {text}"))
    return WorkerError(f"{whose}: has failed with an error that cannot be read")


def to_json(name, arguments, notes):
    arguments = [shorten(argument) for argument in arguments]
    return {"error": name, "arguments": arguments, "notes": shorten_notes(notes)}


def can_make(kind, arguments):
    """Returns whether the arguments fit an error class."""
    if kind is None or len(arguments) != len(kind.types):
        return False
    return all(map(isinstance, arguments, kind.types))


def full_name(kind):
    """Returns the name of a class as in tracebacks."""
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def shorten_notes(notes):
    """Returns the notes, shortened; a last note counts those left out."""
    more = len(notes) - MOST_NOTES + 1
    if more > 1:
        notes = [*notes[: MOST_NOTES - 1], f"and {more} more notes"]
    return [shorten(note, LONGEST_NOTE) for note in notes]


def shorten(value, longest=LONGEST):
    """Returns the start and end of a text that is too long; other values unchanged."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    half = longest // 2 - 30
    left_out = len(value) - 2 * half
    return f"{value[:half]} [... {left_out} characters ...] {value[-half:]}"
