"""Loading of network configurations of any kind."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparkdl.config import text
from sparkdl.errors import ConfigError
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.sequential import NetworkConf

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf

LIVE = {  # loaded on demand: most documents need none of them
    "torch": ("sparkdl.interop.torch", "TorchModel"),
    "keras": ("sparkdl.interop.keras.live", "KerasModel"),
}


def conf_from_dict(options: Mapping[str, Any]) -> "Conf":
    """Returns a GraphConf if there are vertices, a framework's model if named, else a NetworkConf.

    Raises
    ------
    ConfigError
        If the options describe none of these.
    """
    if not isinstance(options, dict):
        raise ConfigError(f"a network needs a mapping of options, got {options!r}")
    if options.get("framework") in LIVE:
        module, name = LIVE[options["framework"]]
        return getattr(import_module(module), name).from_dict(options)
    return (GraphConf if "vertices" in options else NetworkConf).from_dict(options)


def conf_from_json(document: str) -> "Conf":
    """Returns the network of either kind that was written by `to_json`."""
    return conf_from_dict(text.from_json(document))
