"""Name matching: ignoring case, misspelled, or from other systems."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from sparkdl.config import foreign
from sparkdl.config.foreign_cures import OWN, cure_for

SHORT_LIST, LONGEST_LIST = 250, 400  # characters
LONGEST = 60  # longer names are no misspellings, and slow to compare


def key(name):
    """Returns `name` without case, "_", "-" and spaces: "LeakyReLU" matches "leaky_relu"."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def other_number(word):
    """Returns the plural of a word, or the singular of a plural."""
    return word[:-1] if word.endswith("s") else f"{word}s"


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


def suggestion(
    name: Any, known: Iterable[str], family: str | None = None, kinds: Iterable[str] = ()
) -> str:
    """Returns "; did you mean 'units'?" or similar advice for `name`, or "".

    A name in another system comes before names that are spelled alike.

    Parameters
    ----------
    name : object
        The unknown name.
    known : collection of str
    family : str, optional
        The family whose names in other systems are searched. None: names of options; "": none.
    kinds : sequence of str
        Classes that have no such option, the most special first; see foreign_cures.
    """
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    word = key(name)
    return (
        foreign_advice(word, known, family, kinds)
        or alike_advice(name, known)
        or foreign_advice(other_number(word), known, family, kinds)
    )


def object_advice(value: Any, known: Iterable[str], family: str) -> str:
    """Returns advice for a function, a class or an object, where a name of a family is needed.

    Another system's class leads to ours by its name; others to how users write their own.
    """
    kind = value if hasattr(value, "__name__") else type(value)
    if value is None or (kind is type(value) and kind.__module__ in ("builtins", "numpy")):
        return ""
    is_ours = str(kind.__module__).startswith("sparkdl.")
    own = "" if is_ours else OWN.get(family, "")
    advice = suggestion(kind.__name__, known, family, [f"{family} type"])
    return advice or (f"; {own}" if own else "")


def foreign_advice(word, known, family, kinds):
    """Returns the advice for a name in another system, without case and separators, or ""."""
    options = [option for option in foreign.words(word, family) if option in known]
    if options:
        return did_you_mean(options) + foreign.note(word, family)
    cure = cure_for(word, kinds)
    return f"; {cure}" if cure else ""


def alike_advice(name, known):
    return did_you_mean(nearest(name, known))


def did_you_mean(names):
    """Returns "; did you mean 'a' or 'b'?", or "" if there are no names."""
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Returns the members of `known` of which `name` is a misspelling or an abbreviation.

    There are several if they are equally near.

    A misspelling differs in a quarter of the letters at most. Case and separators do not count.
    """
    exact = {other: other for other in known}
    for table, word in ((exact, name), ({key(other): other for other in known}, key(name))):
        close = get_close_matches(word, list(table), n=3, cutoff=0.6)
        alike = [other for other in close if edits(word, other) <= edits_allowed(word, other)]
        if alike:
            fewest = min(edits(word, other) for other in alike)
            return sorted(table[other] for other in alike if edits(word, other) == fewest)
    longer = [other for other in known if is_abbreviation(name, other)]
    return longer if len(longer) == 1 else []


def edits_allowed(word: str, other: str) -> int:
    """Returns how many letters of a misspelling may differ: none of two, one of three to seven."""
    longest = max(len(word), len(other))
    return longest // 4 if longest > 3 else longest // 3


def edits(word: str, other: str) -> int:
    """Returns how many letters to insert, remove, change or swap with the next one.

    This is the optimal string alignment distance (Damerau, A technique for computer detection and
    correction of spelling errors, 1964).
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, here in enumerate(other, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != here))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == here:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


def is_abbreviation(name: str, other: str) -> bool:
    """Returns whether `other` is one longer word that begins with `name`, as "init" does."""
    has_as_many_words = name.count("_") == other.count("_")
    return len(name) >= 3 and has_as_many_words and key(other).startswith(key(name))
