"""The module of a trained network, for use without sparkdl."""

from typing import Any

import numpy as np

from sparkdl.interop.live.trained_arrays import trained_arrays
from sparkdl.interop.torch.module_arrays import build_module, kept, load_torch, trained
from sparkdl.interop.torch.torch_model import TorchModel


def trained_module(network: Any) -> Any:
    """Returns a new torch.nn.Module with a network's weights, in eval mode.

    It shares no memory with the network: `torch.save(trained_module(net.network).state_dict(),
    path)` exports the weights for use without sparkdl.

    Parameters
    ----------
    network : Network
        Network of a TorchModel; for a SparkNetwork, its `network`.

    Raises
    ------
    ConfigError
        It is no Network of a TorchModel.
    """
    conf, arrays = trained_arrays(network, TorchModel, "trained_module")
    torch, module = load_torch(), build_module(conf.module_spec)
    with torch.no_grad():
        for name, array in (*trained(module), *kept(module)):
            array.copy_(torch.from_numpy(np.array(arrays[name])))
    module.eval()
    return module
