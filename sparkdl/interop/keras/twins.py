"""Classes of Keras and ours that are the same but for the names of their options."""

from dataclasses import dataclass, field

from sparkdl.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A class of Keras and ours.

    Parameters
    ----------
    keras : str
        Its name.
    ours : type
    options : {option of Keras: (ours, Keras's default)}
        Numbers.
    """

    keras: str
    ours: type
    options: dict = field(default_factory=dict)

    def read(self, options):
        """Returns our object of Keras's Options."""
        given = self.options.items()
        return self.ours(**{own: options.number(name, first) for name, (own, first) in given})

    def write(self, value):
        """Returns Keras's config of our object."""
        return {name: getattr(value, own) for name, (own, _) in self.options.items()}


def written(value, twins, module):
    """Returns the document of our object by the first Twin that is read as an equal one."""
    for twin in twins:
        if type(value) is twin.ours and twin.ours(**vars_of(twin, value)) == value:
            return document(module, twin.keras, twin.write(value))
    raise UnsupportedError(f"{value} is not supported")


def vars_of(twin, value):
    return {own: getattr(value, own) for own, _ in twin.options.values()}


def document(module, kind, config):
    """Returns an object of Keras as its files have it."""
    return {
        "module": f"keras.{module}",
        "class_name": kind,
        "config": config,
        "registered_name": None,
    }
