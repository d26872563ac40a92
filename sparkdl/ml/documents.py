"""Networks, masters, transforms and checkpoints as JSON texts: values that pyspark.ml can write.

Listeners and a ResourceProfile, which cannot be written, stay as they are.

Each `to_...` is the typeConverter of a Param: it takes the object or its JSON, and raises TypeError
for anything else, as pyspark.ml's converters do.
"""

import json
from functools import lru_cache
from typing import Any

from pyspark.ml.param import TypeConverters
from pyspark.resource import ResourceProfile

from sparkdl.data.transforms.base import Transform
from sparkdl.errors import ConfigError, brief
from sparkdl.ml.given_network import GivenNetwork
from sparkdl.nn import Conf, conf_from_json
from sparkdl.training.foreign_models import cure_for_model
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints

NETWORKS = "a NetworkConf, GraphConf, Network, or the JSON of a conf"


def to_network(value: Any) -> str | GivenNetwork:
    """Returns the JSON of a network, or the GivenNetwork of a Network, which brings weights."""
    if isinstance(value, GivenNetwork):
        return value
    if isinstance(value, Network):
        return GivenNetwork(value)
    if isinstance(value, Conf):
        return json.dumps(value.to_dict())
    if isinstance(value, str) and "{" in value:
        return json.dumps(conf_of(value).to_dict())
    raise TypeError(f"network must be {NETWORKS}, got {brief(value)}{cure_for_model(value)}")


def to_master(value: Any) -> str:
    """Returns the JSON of a TrainingMaster, given as object, JSON or name."""
    if isinstance(value, str):
        value = master_of(value)
    if not isinstance(value, TrainingMaster):
        raise TypeError(f"master must be a TrainingMaster or its JSON, got {brief(value)}")
    chosen, options = value.chosen(), value.to_dict()
    return json.dumps({"type": value.type_name} | {name: options[name] for name in chosen})


def to_transform(value: Any) -> str:
    """Returns the JSON of a transform."""
    if isinstance(value, str):
        value = transform_of(value)
    if not isinstance(value, Transform):
        cure = "it is saved with the model, so it is a member of sparkdl.transforms"
        raise TypeError(f"transform must be a Transform, got {brief(value)}; {cure}")
    return json.dumps(value.to_dict())


def to_checkpoints(value: Any) -> str:
    """Returns the JSON of Checkpoints."""
    if isinstance(value, str):
        value = checkpoints_of(value)
    if not isinstance(value, Checkpoints):
        cure = "give a folder as Checkpoints(path=...)"
        raise TypeError(
            f"checkpoints must be Checkpoints or their JSON, got {brief(value)}; {cure}"
        )
    return json.dumps(value.to_dict())


def to_resources(value: Any) -> ResourceProfile:
    """Returns a ResourceProfile as it is."""
    if not isinstance(value, ResourceProfile):
        kind = "a pyspark.resource.ResourceProfile"
        raise TypeError(f"resources must be {kind}, got {brief(value)}")
    return value


def to_listeners(value: Any) -> list[Listener]:
    """Returns listeners as a list."""
    several = list(value) if isinstance(value, list | tuple) else [value]
    for one in several:
        if not isinstance(one, Listener):
            raise TypeError(f"listeners must be members of sparkdl.listeners, got {brief(one)}")
    return several


def to_names(value: Any) -> str | list[str]:
    """Returns the name of a column, or a list of names."""
    if isinstance(value, str):
        return value
    return TypeConverters.toListString(value)


@lru_cache(maxsize=16)
def conf_of(text: str) -> Conf:
    """Returns the NetworkConf or GraphConf of a JSON text; raises ConfigError if it is none."""
    return conf_from_json(text)


def master_of(text: str) -> TrainingMaster:
    """Returns the TrainingMaster of a JSON text, or of a name."""
    return TrainingMaster.from_dict(parse(text, "master") if "{" in text else {"type": text})


def transform_of(text: str) -> Transform:
    """Returns the transform of a JSON text."""
    return Transform.from_dict(parse(text, "transform"))


def checkpoints_of(text: str) -> Checkpoints:
    """Returns the Checkpoints of a JSON text."""
    return Checkpoints.from_dict(parse(text, "checkpoints"))


def parse(text, name):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} must be JSON, got {brief(text)} ({error})") from None
