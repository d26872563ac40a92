"""Classes of Keras and sparkdl that differ only in the names of their options."""

from dataclasses import dataclass, field

from sparkdl.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A pair of equivalent classes.

    Parameters
    ----------
    keras : str
        Name of Keras's class.
    ours : type
        Class of sparkdl.
    options : {option of Keras: (option of sparkdl, Keras's default)}
        Numbers.
    """

    keras: str
    ours: type
    options: dict = field(default_factory=dict)

    def read(self, options):
        """Builds the sparkdl object from Keras's Options."""
        given = self.options.items()
        return self.ours(**{own: options.number(name, first) for name, (own, first) in given})

    def write(self, value):
        """Returns Keras's config for a sparkdl object."""
        return {name: getattr(value, own) for name, (own, _) in self.options.items()}


def written(value, twins, module):
    """Returns the document of an object, by the first Twin that restores an equal one."""
    for twin in twins:
        if type(value) is twin.ours and twin.ours(**vars_of(twin, value)) == value:
            return document(module, twin.keras, twin.write(value))
    raise UnsupportedError(f"{value} is not supported")


def vars_of(twin, value):
    return {own: getattr(value, own) for own, _ in twin.options.values()}


def document(module, kind, config):
    """Returns a Keras object in the form of its files."""
    return {
        "module": f"keras.{module}",
        "class_name": kind,
        "config": config,
        "registered_name": None,
    }
