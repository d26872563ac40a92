"""A network's configuration from a document, whichever kind it is."""

from sparkdl.config import text
from sparkdl.errors import ConfigError
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.sequential import NetworkConf


def conf_from_dict(options):
    """Returns a GraphConf where there are vertices, else a NetworkConf.

    Raises
    ------
    ConfigError
        Where it is neither.
    """
    if not isinstance(options, dict):
        raise ConfigError(f"a network needs a mapping of options, got {options!r}")
    return (GraphConf if "vertices" in options else NetworkConf).from_dict(options)


def conf_from_json(document):
    """Returns the network that `to_json` of either kind wrote."""
    return conf_from_dict(text.from_json(document))
