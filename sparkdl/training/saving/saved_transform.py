"""The transform of a fit's data, as saved in a model's directory."""

import logging

from sparkdl.data.transforms.base import Transform
from sparkdl.errors import CheckpointError, ConfigError

TRANSFORM = "transform"  # key in a model's extra

log = logging.getLogger(__name__)


def transform_to_json(transform):
    """Returns the entry of a transform for `save_model`; {} for a function that is no Transform."""
    if transform is None:
        return {}
    if isinstance(transform, Transform):
        return {TRANSFORM: transform.to_dict()}
    log.warning("%s is no member of sparkdl.transforms: a model does not keep it", transform)
    return {}


def transform_from_json(path, extra):
    """Returns the saved transform of a model, or None.

    Raises
    ------
    CheckpointError
        If this process does not know it.
    """
    found = extra.get(TRANSFORM)
    if found is None:
        return None
    try:
        return Transform.from_dict(found)
    except ConfigError as error:
        raise CheckpointError(f"{path}: its transform cannot be made: {error}") from error
