"""The "Parameters" of a class, written from its fields, so that help() explains every option."""

import re
from dataclasses import MISSING, Field
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from textwrap import indent, wrap

from sparkdl.config.option import default_of, fields_of_bases, option_of

HEADING = re.compile(r"^(Parameters|Shapes|Returns|Raises|References|Examples|Notes)\n-+$", re.M)
WIDTH = 96


def document(cls):
    """Adds a section "Parameters" to the docstring of a class that its decorator has yet to see.

    A class that has such a section keeps it, and one with a field that says nothing gets none.
    """
    text, items = cleandoc(cls.__dict__.get("__doc__") or ""), list_fields(cls)
    written = any(match[1] == "Parameters" for match in HEADING.finditer(text))
    if text and items and not written and all(is_documented(i, cls) for i in items.values()):
        lines = [entry(name, item, cls) for name, item in items.items()]
        cls.__doc__ = insert(text, "\n".join(["Parameters", "----------", *lines]))


def signature_of(cls):
    """Returns the signature of a class: options that must be given first, shorthands last.

    Without types, which the section "Parameters" has in words. A class with a rule of its own for
    what is given without names (`options_by_name`) takes any.
    """
    parameters = list(signature(cls.__init__).parameters.values())[1:]
    options = [one.replace(annotation=Parameter.empty) for one in parameters]
    options.sort(key=lambda one: (one.kind, one.default is not one.empty))
    options += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in cls.shorthands]
    if any("options_by_name" in vars(base) for base in cls.__mro__[:-2]):
        options.insert(0, Parameter("values", Parameter.VAR_POSITIONAL))
    return Signature(options)


def list_fields(cls):
    """Returns {name: dataclass field}: the class's own first, then its nearest base's ...

    The class is not a dataclass yet; what its body declares without `option` has the value None.
    """
    inherited = fields_of_bases(cls)
    body = get_annotations(cls)
    names = [name for name, kind in body.items() if "ClassVar" not in str(kind)]
    values = {name: cls.__dict__.get(name) for name in names}
    nearest_first = [name for base in cls.__mro__[1:] for name in get_annotations(base)]
    rest = {n: inherited[n] for n in nearest_first if n in inherited and n not in body}
    return values | rest


def is_documented(item, cls):
    """Returns whether a field was made by `option` with a text."""
    about = option_of(item, cls) if isinstance(item, Field) else None
    return about is not None and about.text != ""


def insert(doc, section):
    """Returns `doc` with `section` in front of its first heading, or at its end."""
    heading = HEADING.search(doc)
    place = heading.start() if heading else len(doc)
    return f"{doc[:place].rstrip()}\n\n{section}\n\n{doc[place:]}".rstrip() + "\n"


def entry(name, item, cls):
    """Returns the text of help() for one field of `cls`."""
    about, default = option_of(item, cls), default_of(item)
    unit = f", {about.unit}" if about.unit else ""
    end = "" if default is MISSING else f", default {format_default(default)}"
    text = indent("\n".join(wrap(about.text, WIDTH - 4)), "    ")
    return f"{name} : {about.constraint.phrase}{unit}{end}\n{text}"


def format_default(default):
    """Returns a default as it is written in Python."""
    return repr(default) if type(default).__module__ == "builtins" else str(default)
