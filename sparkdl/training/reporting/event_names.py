"""Names of events: those of other systems, and misspelt ones, are refused with ours."""

from inspect import isfunction, signature

from sparkdl.config.foreign_calls import EVENTS
from sparkdl.config.names import key, suggestion
from sparkdl.errors import ConfigError, brief


def check_events(cls, listener):
    """Raises ConfigError where a class has a method `on_...` that nobody calls.

    One that a base has too, such as a callback of Keras, or that another method of the class
    calls, is its own.

    Parameters
    ----------
    cls : subclass of Listener
    listener : Listener itself
    """
    for name, value in vars(cls).items():
        if name.startswith("on_") and callable(value) and not is_called(name, cls):
            raise ConfigError(f"Listener has no event {brief(name)}{cure_for(name, listener)}")


def is_called(name, cls):
    """Returns whether a base of a class has a method, or another method of the class names it."""
    others = [value for other, value in vars(cls).items() if other != name and isfunction(value)]
    named = any(name in other.__code__.co_names for other in others)
    return named or any(hasattr(base, name) for base in cls.__bases__)


def cure_for(name, listener):
    """Returns "; " and which event is meant, with what it is given, or which ones there are."""
    known = [event for event in vars(listener) if event.startswith("on_")]
    meant = EVENTS.get(key(name))
    if meant is not None:
        return f"; it is {with_arguments(meant, listener)}"
    if is_before_a_step(name):
        return f"; the nearest are {with_arguments('on_round', listener)} and on_epoch, after each"
    return suggestion(name, known, "") or f"; it has {', '.join(known)}"


def is_before_a_step(name):
    """Returns whether a hook of other systems is called before a minibatch or an epoch."""
    return key(name).endswith(("batchbegin", "epochbegin", "batchstart", "epochstart"))


def with_arguments(event, listener):
    """Returns an event as a class has it, as "on_epoch(report, state)"."""
    return f"{event}({', '.join([*signature(getattr(listener, event)).parameters][1:])})"
