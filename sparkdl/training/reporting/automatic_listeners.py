"""Listeners added to every fit of this process."""

from collections.abc import Callable

from sparkdl.training.reporting.listeners import Listener

_makers: dict[str, Callable[[], Listener]] = {}


def add_automatic_listener(name: str, make: Callable[[], Listener]) -> None:
    """Adds a listener made by `make` to each fit that begins from now on; one per name."""
    _makers[name] = make


def remove_automatic_listener(name: str) -> None:
    """Reverts `add_automatic_listener`; does nothing for an unknown name."""
    _makers.pop(name, None)


def automatic_listeners() -> list[Listener]:
    """Returns new listeners for a fit. They come last, as those before may still refuse it."""
    return [make() for make in _makers.values()]
