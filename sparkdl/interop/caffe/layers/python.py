"""Python layers, replaced by layers registered under the names used in the net."""

from sparkdl.errors import ConfigError, UnsupportedError

REGISTERED = {}


def register_python(module, layer, make):
    """Registers the translation of one class of Caffe's Python layers.

    Parameters
    ----------
    module, layer : str
        Names of the class in python_param.
    make : function (param_str) -> Layer
        Returns a sparkdl layer, or one of your own class.
    """
    REGISTERED[module, layer] = make


def python(layer, net):
    options = layer.python_param
    make = REGISTERED.get((options.module, options.layer))
    if make is None:
        raise ConfigError(
            f"a Python layer must be registered, got {options.module}.{options.layer}; "
            f"register_python({options.module!r}, {options.layer!r}, make) says what stands for it"
        )
    if len(layer.top) > 1:
        raise UnsupportedError(f"a Python layer must have one top, got {list(layer.top)}")
    net.add(layer, make(options.param_str))


PYTHON = {"Python": python}
