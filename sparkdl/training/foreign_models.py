"""Errors for Keras and PyTorch models given in place of a network, with the cure."""

from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.networks.base import Conf

# By package: the function that converts a model, and the class that trains it as it is.
CURES = {
    "keras": "read_keras(model).network or KerasModel of sparkdl.interop.keras",
    "torch": "read_module(module, example_inputs).network or TorchModel of sparkdl.interop.torch",
}
PACKAGES = {"keras": "keras", "tf_keras": "keras", "tensorflow": "keras", "torch": "torch"}


def require_conf(conf: object, kind: Any = Conf, kinds: str = "a NetworkConf or GraphConf") -> None:
    """Raises ConfigError unless `conf` is an instance of `kind`, called `kinds` in the message."""
    if not isinstance(conf, kind):
        got = f"{type(conf).__name__}{cure_for_model(conf)}"
        raise ConfigError(f"conf must be {kinds}, got {got}")


def cure_for_model(model: object) -> str:
    """Returns "; give ..." for a foreign model, or for an object that has a network; else ""."""
    homes = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    for home in homes:
        if home in PACKAGES:
            return f"; give {CURES[PACKAGES[home]]}"
    has_network = isinstance(getattr(getattr(model, "network", None), "conf", None), Conf)
    return "; give its .network" if has_network else ""
