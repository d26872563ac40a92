"""What a fit did to its data, as a model's directory has it."""

import logging

from sparkdl.data.transforms.base import Transform
from sparkdl.errors import CheckpointError, ConfigError

TRANSFORM = "transform"  # the key in what a model holds besides the state

log = logging.getLogger(__name__)


def transform_to_json(transform):
    """Returns what `save_model` is to keep of a transform: nothing of a function that is none."""
    if transform is None:
        return {}
    if isinstance(transform, Transform):
        return {TRANSFORM: transform.to_dict()}
    log.warning("%s is no member of sparkdl.transforms: a model does not keep it", transform)
    return {}


def transform_from_json(path, extra):
    """Returns the transform that a model keeps, or None.

    Raises
    ------
    CheckpointError
        It is none that this process knows.
    """
    found = extra.get(TRANSFORM)
    if found is None:
        return None
    try:
        return Transform.from_dict(found)
    except ConfigError as error:
        raise CheckpointError(f"{path}: its transform cannot be made: {error}") from error
