"""Transport of a fit's errors from its driver to the client, where they keep their class.

Classes are looked up among the client's imported modules; nothing is imported or unpickled for
them, and their constructors do not run.
"""

import sys
from traceback import TracebackException

from sparkdl.error_messages import KINDS, error_from_json, error_to_json, shorten

PLAIN = str, int, float, bool, type(None)  # types of values that are sent
TOO_GENERAL = Exception, BaseException, object


def driver_error_to_json(error):
    """Returns the JSON object from which `driver_error_from_json` restores the error."""
    text = shorten(str(TracebackException.from_exception(error)))
    args = error.args
    if isinstance(error, OSError) and len(args) == 2 and error.filename is not None:
        args = (*args, error.filename)  # removed by the constructor
    is_plain = all(isinstance(value, PLAIN) for value in args)
    own = vars(error).items()
    return error_to_json(error) | {
        "classes": [[one.__module__, one.__qualname__] for one in type(error).__mro__],
        "text": text,
        "values": [shorten(value) for value in args] if is_plain else [text],
        "attributes": {name: shorten(value) for name, value in own if isinstance(value, PLAIN)},
    }


def driver_error_from_json(meta):
    """Returns the error given to `driver_error_to_json`: same class, text and notes.

    If its class is not known here, the nearest known base class is used, and the text names the
    original; a WorkerError if there is none.
    """
    plain = error_from_json(meta, "the fit")
    own, *others = (find_class(*names) for names in meta["classes"])
    error = None
    if own not in (None, type(plain)):
        error = make_error(own, meta["values"], meta["text"], meta["attributes"])
    if error is None and meta["error"] not in KINDS:
        described = f"{meta['error']}: {meta['text']}"
        near = (one for one in others if one is not None and one not in TOO_GENERAL)
        made = (make_error(one, [described], described, {}) for one in near)
        error = next((one for one in made if one is not None), None)
    if error is None:
        return plain
    for note in getattr(plain, "__notes__", ()):
        error.add_note(note)
    return error


def find_class(module, name):
    """Returns the error class of this name in an imported module, or None."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def make_error(kind, values, text, attributes):
    """Returns an error of a class without running its constructor, or None.

    None if its text needs something that was not sent.
    """
    builtin = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    try:
        error = builtin.__new__(kind, *values)
        vars(error).update(attributes)
        return error if text in str(error) else None
    except Exception:
        return None
