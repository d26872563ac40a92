"""Models of Keras and PyTorch where a network is awaited: refused with what makes one of them."""

from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.networks.base import Conf

# By package: what reads a model as a network of ours, and what trains it as it is.
CURES = {
    "keras": "read_keras(model).network or KerasModel of sparkdl.interop.keras",
    "torch": "read_module(module, example_inputs).network or TorchModel of sparkdl.interop.torch",
}
PACKAGES = {"keras": "keras", "tf_keras": "keras", "tensorflow": "keras", "torch": "torch"}


def require_conf(conf: object, kind: Any = Conf, kinds: str = "a NetworkConf or GraphConf") -> None:
    """Raises ConfigError unless `conf` is an instance of `kind`, in words `kinds`."""
    if not isinstance(conf, kind):
        got = f"{type(conf).__name__}{cure_for_model(conf)}"
        raise ConfigError(f"conf must be {kinds}, got {got}")


def cure_for_model(model: object) -> str:
    """Returns "; give ..." for a model of another system, or for what has a network; else ""."""
    homes = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    for home in homes:
        if home in PACKAGES:
            return f"; give {CURES[PACKAGES[home]]}"
    has_network = isinstance(getattr(getattr(model, "network", None), "conf", None), Conf)
    return "; give its .network" if has_network else ""
