"""Check of listeners' methods for misspelt events and for events of other systems."""

from difflib import get_close_matches
from inspect import isfunction, signature

from sparkdl.config.foreign_calls import EVENTS
from sparkdl.config.names import key
from sparkdl.errors import ConfigError, brief

ALIKE = 0.85  # minimum similarity of a misspelt name to an event


def check_events(cls, listener):
    """Raises ConfigError if a class has another system's hook, or a misspelt event.

    A method that a base class also has, such as a Keras callback, or that another method of the
    class calls, is accepted; so is any other `on_...` method.

    Parameters
    ----------
    cls : subclass of Listener
    listener : Listener itself
    """
    for name, value in vars(cls).items():
        cure = cure_for(name, listener) if name.startswith("on_") and callable(value) else None
        if cure is not None and not is_called(name, cls):
            raise ConfigError(f"Listener has no event {brief(name)}; {cure}")


def is_called(name, cls):
    """Returns whether a base class has a method, or another method of the class refers to it."""
    others = [value for other, value in vars(cls).items() if other != name and isfunction(value)]
    named = any(name in other.__code__.co_names for other in others)
    return named or any(hasattr(base, name) for base in cls.__bases__)


def cure_for(name, listener):
    """Returns the event meant, with its arguments; None for events and unrelated names."""
    known = [event for event in vars(listener) if event.startswith("on_")]
    meant = EVENTS.get(key(name))
    if meant is not None:
        return f"it is {with_arguments(meant, listener)}"
    if is_before_a_step(name):
        return f"the nearest are {with_arguments('on_round', listener)} and on_epoch, after each"
    near = [] if name in known else get_close_matches(name, known, 1, ALIKE)
    return f"did you mean {near[0]!r}?" if near else None


def is_before_a_step(name):
    """Returns whether another system calls a hook before a minibatch or an epoch."""
    return key(name).endswith(("batchbegin", "epochbegin", "batchstart", "epochstart"))


def with_arguments(event, listener):
    """Returns an event as in "on_epoch(report, state)"."""
    return f"{event}({', '.join([*signature(getattr(listener, event)).parameters][1:])})"
