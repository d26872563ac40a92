"""The Keras model of a trained network, for use outside of sparkdl."""

from typing import Any

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.keras.live.keras_model import KerasModel
from sparkdl.interop.keras.live.variables import build_model, kept, trained
from sparkdl.interop.live.live_model import MODULE


def trained_model(network: Any) -> Any:
    """Returns a new keras.Model with a network's weights.

    Parameters
    ----------
    network : Network
        Of a KerasModel; of a SparkNetwork its `network`.

    Raises
    ------
    ConfigError
        It is no Network of a KerasModel.
    """
    conf = getattr(network, "conf", None)
    if not isinstance(conf, KerasModel):
        raise ConfigError(
            f"trained_model.network must be a Network of a KerasModel, got {brief(network)}; a "
            "SparkNetwork has one as its `network`"
        )
    model = build_model(conf.make, conf.seed)
    arrays = conf.params_layout.views(network.state.params)
    arrays |= conf.buffers_layout.views(network.state.buffers)
    for name, variable in (*trained(model), *kept(model)):
        variable.assign(arrays[f"{MODULE}/{name}"])
    return model
