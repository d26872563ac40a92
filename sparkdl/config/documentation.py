"""The "Parameters" section of a class docstring, generated from its fields for help()."""

import re
from dataclasses import MISSING, fields
from inspect import Parameter, Signature, cleandoc
from textwrap import indent, wrap

from sparkdl.config.dataclass import annotations_of, default_of
from sparkdl.config.option import option_of

HEADING = re.compile(r"^(Parameters|Shapes|Returns|Raises|References|Examples|Notes)\n-+$", re.M)
WIDTH = 96


class Docstring:
    """A class docstring that is generated on first access."""

    def __init__(self, own):
        self.own, self.text = own, None

    def __get__(self, instance, cls):
        if self.own and self.text is None:
            self.text = document(cls, cleandoc(self.own))
        return self.text


def document(cls, own):
    """Adds a section "Parameters" to the docstring `own` of a class.

    A docstring that has the section is kept, as is that of a class with an undocumented field.
    """
    items = list_fields(cls)
    written = any(match[1] == "Parameters" for match in HEADING.finditer(own))
    if written or not items or not all(is_documented(item, cls) for item in items):
        return own
    lines = [entry(item, cls) for item in items]
    return insert(own, "\n".join(["Parameters", "----------", *lines]))


def signature_of(cls):
    """Returns the signature of a class: required options first, shorthands last.

    Types are omitted, since the section "Parameters" describes them. A class that overrides
    `options_by_name` accepts any positional arguments.
    """
    options = [parameter(item) for item in fields(cls)]
    options.sort(key=lambda one: (one.kind, one.default is not one.empty))
    options += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in cls.shorthands]
    if any("options_by_name" in vars(base) for base in cls.__mro__[:-3]):  # Config defines it too
        options.insert(0, Parameter("values", Parameter.VAR_POSITIONAL))
    return Signature(options)


def parameter(item):
    """Returns a dataclass field as a parameter of its class."""
    kind = Parameter.KEYWORD_ONLY if item.kw_only else Parameter.POSITIONAL_OR_KEYWORD
    default = default_of(item)
    return Parameter(item.name, kind, default=Parameter.empty if default is MISSING else default)


def list_fields(cls):
    """Returns the dataclass fields of a class: its own first, then those of its nearest base ..."""
    items = {item.name: item for item in fields(cls)}
    nearest_first = dict.fromkeys(name for base in cls.__mro__ for name in annotations_of(base))
    return [items[name] for name in nearest_first if name in items]


def is_documented(item, cls):
    """Returns whether a field was made by `option` with a text."""
    about = option_of(item, cls)
    return about is not None and about.text != ""


def insert(doc, section):
    """Inserts `section` into `doc` before its first heading, or at the end."""
    found = HEADING.search(doc)
    place = found.start() if found else len(doc)
    return f"{doc[:place].rstrip()}\n\n{section}\n\n{doc[place:]}".rstrip() + "\n"


def entry(item, cls):
    """Returns the text for one field of `cls` in help()."""
    about, default = option_of(item, cls), default_of(item)
    unit = f", {about.unit}" if about.unit else ""
    end = "" if default is MISSING else f", default {format_default(default)}"
    text = indent("\n".join(wrap(about.text, WIDTH - 4)), "    ")
    return f"{item.name} : {about.constraint.phrase}{unit}{end}\n{text}"


def format_default(default):
    """Formats a default as in Python source."""
    return repr(default) if type(default).__module__ == "builtins" else str(default)
