"""Name matching: ignoring case, misspelled, or from other systems."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from sparkdl.config import foreign

SHORT_LIST, LONGEST_LIST = 250, 400  # characters
LONGEST = 60  # longer names are no misspellings, and slow to compare


def key(name):
    """Returns `name` without case, "_", "-" and spaces: "LeakyReLU" matches "leaky_relu"."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def find_name(name, known):
    """Returns the member of `known` that equals `name` up to case and separators, or None."""
    if not isinstance(name, str):
        return None
    if name in known:
        return name
    same = [other for other in known if key(other) == key(name)]
    return same[0] if len(same) == 1 else None


def list_names(known):
    """Returns the names `known` as text; of very many, the first ones and a count of the rest."""
    names = ", ".join(sorted(known))
    if len(names) <= LONGEST_LIST:
        return names
    first = names[:LONGEST_LIST].rpartition(", ")[0]
    return f"{first} and {len(known) - len(first.split(', '))} more"


def one_of(known, end):
    """Returns "one of a, b, got 'c'", where `end` is the text after the names.

    Long lists of names come last, so that they do not bury the message.
    """
    names = list_names(known)
    if len(names) <= SHORT_LIST:
        return f"one of {names}{end}"
    return f"one of {len(known)} names{end}{'' if end.endswith('?') else ';'} they are {names}"


def suggestion(name: Any, known: Iterable[str], family: str | None = None) -> str:
    """Returns "; did you mean 'units'?" or similar advice for `name`, or "".

    Parameters
    ----------
    name : object
        The unknown name.
    known : collection of str
    family : str, optional
        The family whose names in other systems are searched. None: names of options; "": none.
    """
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    options = [word for word in foreign.words(key(name), family) if word in known]
    if options:
        note = foreign.note(key(name), family)
        return f"; did you mean {' or '.join(map(repr, options))}?{note}"
    exact = {other: other for other in known}
    for table, word in ((exact, name), ({key(other): other for other in known}, key(name))):
        close = get_close_matches(word, list(table), n=1, cutoff=0.5)
        if close:
            return f"; did you mean {table[close[0]]!r}?"
    return ""
