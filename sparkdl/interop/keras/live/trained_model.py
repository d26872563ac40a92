"""The Keras model of a trained network, for use outside sparkdl."""

from typing import Any

from sparkdl.interop.keras.live.keras_model import KerasModel
from sparkdl.interop.keras.live.variables import build_model, kept, trained
from sparkdl.interop.live.trained_arrays import trained_arrays


def trained_model(network: Any) -> Any:
    """Returns a new keras.Model with a network's weights.

    Parameters
    ----------
    network : Network
        Network of a KerasModel; for a SparkNetwork, its `network`.

    Raises
    ------
    ConfigError
        If it is not a Network of a KerasModel.
    """
    conf, arrays = trained_arrays(network, KerasModel, "trained_model")
    model = build_model(conf.make, conf.seed, conf.backend)
    for name, variable in (*trained(model), *kept(model)):
        variable.assign(arrays[name])
    return model
