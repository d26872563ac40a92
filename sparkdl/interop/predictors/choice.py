"""Choice of the predictor for a model."""

import logging
from os import PathLike, fspath
from typing import Any

from sparkdl.errors import ConfigError, UnsupportedError, brief
from sparkdl.interop.live.live_model import LiveModel
from sparkdl.interop.predictors.network_predictor import NetworkPredictor
from sparkdl.interop.predictors.predictor import Predictor
from sparkdl.training.network import Network

log = logging.getLogger(__name__)
MODELS = (
    "a Network, a SparkNetwork, a TorchModel or KerasModel, a folder of `save`, a .onnx, .keras "
    "or .h5 file, a .zip of Deeplearning4j, or an OnnxPredictor, TorchPredictor or KerasPredictor"
)


def choose_predictor(model: Any) -> Predictor:
    """Returns the Predictor of a model.

    sparkdl's engine computes files, which take only rows of their own lengths. An ONNX file that
    `read_onnx` cannot read (nodes without a layer, open axes, inputs other than floats and
    embedding ids) is computed as it is, by an OnnxFunction, with a warning in the log.

    Parameters
    ----------
    model
        A Network, SparkNetwork, OnnxNet, KerasNet or Dl4jNet; a TorchModel or KerasModel, with
        first values; a Predictor; a path of a .onnx, .keras or .h5 file, of a .zip of
        Deeplearning4j, or of a folder that `save` wrote.

    Raises
    ------
    ConfigError
        It is none of these.
    DataError, UnsupportedError, CheckpointError
        The file cannot be read.
    """
    if isinstance(model, Predictor):
        return model
    if isinstance(model, str | PathLike):
        return predictor_of_path(fspath(model))
    if isinstance(model, LiveModel):
        return NetworkPredictor(Network(model))
    if isinstance(model, Network):
        return NetworkPredictor(model)
    network, outputs = getattr(model, "network", None), getattr(model, "outputs", None)
    if not isinstance(network, Network):
        raise ConfigError(f"model must be {MODELS}, got {brief(model)}")
    named = outputs if isinstance(outputs, dict) else {name: name for name in outputs or ()}
    return NetworkPredictor(network, named or None, pads=getattr(model, "pads", True))


def predictor_of_path(path):
    """Returns the Predictor of a file or folder."""
    if path.endswith(".onnx"):
        return predictor_of_onnx(path)
    if path.endswith((".keras", ".h5", ".json")):
        from sparkdl.interop.keras.reader import read_keras

        return choose_predictor(read_keras(path, compiled=False))
    if path.endswith(".zip"):
        from sparkdl.interop.dl4j.reader import read_dl4j

        return choose_predictor(read_dl4j(path, training=False))
    return NetworkPredictor(Network.load(path))


def predictor_of_onnx(path):
    """Returns the Predictor of an ONNX file: a network if `read_onnx` reads it, else a function."""
    from sparkdl.interop.onnx.function_predictor import OnnxFunctionPredictor
    from sparkdl.interop.onnx.reader import read_onnx

    try:
        net = read_onnx(path)
    except (UnsupportedError, ConfigError) as error:  # nodes, inputs or shapes without a layer
        log.warning(
            "an OnnxFunction computes %s, which cannot be read as a network: %s", path, error
        )
    else:
        names = [*net.network.conf.input_shapes]
        input = names[0] if len(names) == 1 else None  # several inputs keep their names
        return NetworkPredictor(net.network, net.outputs, input, net.pads)
    try:
        return OnnxFunctionPredictor(path)
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}\nOnnxPredictor(path) asks onnxruntime instead") from error
