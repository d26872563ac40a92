"""Listeners that each fit of this process has, beside those that it is given."""

from collections.abc import Callable

from sparkdl.training.reporting.listeners import Listener

_makers: dict[str, Callable[[], Listener]] = {}


def add_automatic_listener(name: str, make: Callable[[], Listener]) -> None:
    """Has each fit that begins from now on call `make` for a listener more; one for each name."""
    _makers[name] = make


def remove_automatic_listener(name: str) -> None:
    """Ends what `add_automatic_listener` has begun; nothing where it has not."""
    _makers.pop(name, None)


def automatic_listeners() -> list[Listener]:
    """Returns new listeners for a fit. They come last: those before may still refuse it."""
    return [make() for make in _makers.values()]
