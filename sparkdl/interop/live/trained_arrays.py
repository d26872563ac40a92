"""Arrays of a trained live model, for a model of its framework."""

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.live.live_model import MODULE


def trained_arrays(network, kind, function):
    """Returns (conf, {name: array}) of a Network, with the names of the model's arrays.

    Parameters
    ----------
    kind : subclass of LiveModel
    function : str
        Name of the calling function, for errors.

    Raises
    ------
    ConfigError
        If it is not a Network of that kind.
    """
    conf = getattr(network, "conf", None)
    if not isinstance(conf, kind):
        raise ConfigError(
            f"{function}.network must be a Network of a {kind.__name__}, got {brief(network)}; a "
            "SparkNetwork has one as its `network`"
        )
    arrays = conf.params_layout.views(network.state.params)
    arrays |= conf.buffers_layout.views(network.state.buffers)
    return conf, {name.removeprefix(f"{MODULE}/"): array for name, array in arrays.items()}
