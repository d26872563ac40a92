"""Deeplearning4j's objects in JSON: a class with options.

Since 1.0.0-beta, "@class" names the class; before, the object is a mapping of one short name to the
options.
"""

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop import options

PACKAGES = ("org.deeplearning4j.", "org.nd4j.")
FREE = {
    "@class",
    "biasinit",
    "cachemode",
    "cudnnallowfallback",
    "cudnnalgomode",
    "cudnnbwddataalgo",
    "cudnnbwdfilteralgo",
    "cudnnfwdalgo",
    "datatype",
    "dist",
    "forgetgatebiasinit",
    "gaininit",
    "helperallowfallback",
    "inferinputlength",
    "inputlength",
    "layername",
    "numparams",
    "outputformat",  # of sequences, whose features are last here
    "rnndataformat",
    "timedistributedformat",
    "weightinit",
    "weightinitfn",
    "weightinitfnrecurrent",
}


class Options(options.Options):
    """Options of a Deeplearning4j object, in lower case, as their spelling changed over time."""

    free = frozenset(FREE)

    def __init__(self, values):
        super().__init__(values)
        self.values = {name.lower(): value for name, value in values.items()}

    def take(self, name, default=None):
        """Returns an option, or `default` if it is missing or null."""
        found = super().take(name, default)
        return default if found is None else found

    def word(self, name, default=""):
        """Returns a text option in lower case."""
        value = self.take(name, default)
        self.need(isinstance(value, str), name, value)
        return value.lower()


def object_of(value, what, ending=""):
    """Returns (short name in lower case, Options) of an object.

    Parameters
    ----------
    value : dict or str
    what : str
        For errors: "a layer".
    ending : str
        Word at the end or start of all names of this kind, to be removed.
    """
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, dict) or not value:
        raise DataError(f"{what} must be an object, got {str(value)[:80]!r}")
    kind = value.get("@class")
    if kind is None:
        if len(value) != 1:
            raise DataError(f"{what} must have an @class, got {sorted(value)[:5]}")
        [(kind, value)] = value.items()
    elif not isinstance(kind, str):
        raise DataError(f"{what} must have a name as its @class, got {str(kind)[:80]!r}")
    elif not kind.startswith(PACKAGES):
        raise UnsupportedError(f"the custom class {kind[:100]!r}")
    return short(kind, ending), Options(value or {})


def short(kind, ending):
    """Returns a class name without package and ending, in lower case."""
    name = kind.rpartition(".")[2].rpartition("$")[2].lower()
    if name == ending:
        return name
    return name.removesuffix(ending).removeprefix(ending)
