"""Sequences shorter than the input of a live model."""

from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, DataError

REFUSED = "refused"


def takes_steps(model: Any) -> bool:
    """Returns whether a model's input is a sequence whose records may be padded.

    Embedding ids count only if padding is requested, as they may mean something else.
    """
    of_ids = len(model.input_shape) == 1 and model.input_type == "int64"
    return len(model.input_shape) == 2 or (of_ids and model.padding != REFUSED)


def check_padding(model: Any) -> None:
    """Raises ConfigError for a model with padding whose input is not a sequence."""
    if model.padding != REFUSED and not takes_steps(model):
        raise ConfigError(
            f'{type(model).__name__}.padding must be "refused" unless examples are (steps, '
            f"numbers), or (steps,) of int64, got {model.padding!r} with {model.input_shape}"
        )


def check_steps(model: Any, mask: Any) -> None:
    """Raises DataError if a mask (batch, steps) drops steps, and padding is refused."""
    if model.padding != REFUSED or mask is None or np.all(mask):
        return
    given = int(np.sum(np.asarray(mask)[np.argmin(np.min(mask, axis=1))] != 0))
    raise DataError(
        f"features must have {model.input_shape[0]} steps, got {given}; give {type(model).__name__}"
        '(padding="zeros") if the model treats zeros as padding, or give records of one length'
    )
